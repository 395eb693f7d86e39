import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Notifications } from '../../platform';
import {
  autoSignalChannel,
  type Drift,
  type DriftLevel,
  driftLevel,
  noDrift,
  noteAnswer,
  noteFamiliarity,
  noteSignal,
  readSignal,
  type Reliability,
} from '../../routing';

const MOST_ORGANISATIONS = 1_000;
const MOST_MODELS = 1_000;

/**
 * Recent observations of `auto` traffic: failures of models, drift of an organisation's requests, and feedback, which
 * all nodes share. Feedback affects its own organisation only.
 */
@Injectable()
export class AutoTraffic implements OnModuleInit {
  private readonly reliability: Reliability = new Map();
  private readonly signals = new Map<number, Reliability>();
  private readonly drifts = new Map<number, Drift>();

  constructor(private readonly notifications: Notifications) {}

  async onModuleInit(): Promise<void> {
    await this.notifications.on(autoSignalChannel, (text) => {
      const signal = readSignal(text);
      if (signal !== null)
        noteSignal(this.signalsOf(signal.organisationId), signal.model, signal, Date.now());
    });
  }

  reliabilityFor(organisationId: number | null): readonly Reliability[] {
    const signals = organisationId === null ? undefined : this.signals.get(organisationId);
    return signals === undefined ? [this.reliability] : [this.reliability, signals];
  }

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

  private signalsOf(organisationId: number): Reliability {
    const known = this.signals.get(organisationId);
    if (known !== undefined && known.size < MOST_MODELS) return known;
    if (this.signals.size >= MOST_ORGANISATIONS) this.signals.clear();
    const signals: Reliability = new Map();
    this.signals.set(organisationId, signals);
    return signals;
  }
}
