import { Injectable } from '@nestjs/common';
import {
  type Drift,
  type DriftLevel,
  driftLevel,
  noDrift,
  noteAnswer,
  noteFamiliarity,
  type Reliability,
} from '../../routing';

const MOST_ORGANISATIONS = 1_000;
const MOST_MODELS = 1_000;

/** What this node lately saw of `auto`: which models fail, and whether the requests of an organisation have changed. */
@Injectable()
export class AutoTraffic {
  readonly reliability: Reliability = new Map();
  private readonly drifts = new Map<number, Drift>();

  answered(model: string, isAnswer: boolean): void {
    if (this.reliability.size >= MOST_MODELS && !this.reliability.has(model)) this.reliability.clear();
    noteAnswer(this.reliability, model, isAnswer, Date.now());
  }

  driftOf(organisationId: number | null): DriftLevel {
    const drift = organisationId === null ? undefined : this.drifts.get(organisationId);
    return drift === undefined ? 'calm' : driftLevel(drift);
  }

  note(organisationId: number | null, isUnfamiliar: boolean): void {
    if (organisationId === null) return;
    let drift = this.drifts.get(organisationId);
    if (drift === undefined) {
      if (this.drifts.size >= MOST_ORGANISATIONS) this.drifts.clear();
      this.drifts.set(organisationId, (drift = noDrift()));
    }
    noteFamiliarity(drift, isUnfamiliar);
  }
}
