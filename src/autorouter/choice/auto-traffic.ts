import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Notifications } from '../../platform';
import { autoSignalChannel, readSignal } from '../learning/auto-signals';
import { type Drift, type DriftLevel, driftLevel, noDrift, noteFamiliarity } from '../engine/drift';
import { noteSignal, type Reliability } from '../engine/reliability';

const MOST_ORGANISATIONS = 1_000;
const MOST_MODELS = 1_000;

/**
 * Keeps recent observations of `auto` traffic: answers of models, drift of an organisation's requests, and feedback,
 * which all nodes share. All of it affects its own organisation only; keys without one share theirs.
 */
@Injectable()
export class AutoTraffic implements OnModuleInit {
  private readonly answers = new Map<number | null, Reliability>();
  private readonly signals = new Map<number | null, Reliability>();
  private readonly drifts = new Map<number, Drift>();

  constructor(private readonly notifications: Notifications) {}

  async onModuleInit(): Promise<void> {
    await this.notifications.on(autoSignalChannel, (text) => {
      const signal = readSignal(text);
      if (signal !== null)
        noteSignal(ofOrganisation(this.signals, signal.organisationId), signal.model, signal, Date.now());
    });
  }

  reliabilityFor(organisationId: number | null): readonly Reliability[] {
    return [this.answers, this.signals].flatMap((kept) => kept.get(organisationId) ?? []);
  }

  answered(organisationId: number | null, model: string): void {
    const answer = { failed: 0, answered: 1 };
    noteSignal(ofOrganisation(this.answers, organisationId), model, answer, Date.now());
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

function ofOrganisation(kept: Map<number | null, Reliability>, organisationId: number | null): Reliability {
  const known = kept.get(organisationId);
  if (known !== undefined && known.size < MOST_MODELS) return known;
  if (kept.size >= MOST_ORGANISATIONS) kept.clear();
  const fresh: Reliability = new Map();
  kept.set(organisationId, fresh);
  return fresh;
}
