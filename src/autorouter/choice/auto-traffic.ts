import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Notifications } from '../../platform';
import { autoSignalChannel, parseSignal } from '../learning/auto-signals';
import { type Drift, type DriftLevel, driftLevel, noDrift, noteFamiliarity } from '../engine/drift';
import { noteSignal, type Reliability } from '../engine/reliability';

const MAX_ORGANISATIONS = 1_000;
const MAX_MODELS = 1_000;

/**
 * Keeps recent observations of `auto` traffic: model answers, drift of an organisation's requests, and feedback shared
 * by all nodes. Observations affect their own organisation only; keys without one share theirs.
 */
@Injectable()
export class AutoTraffic implements OnModuleInit {
  private readonly answers = new Map<number | null, Reliability>();
  private readonly signals = new Map<number | null, Reliability>();
  private readonly drifts = new Map<number, Drift>();

  constructor(private readonly notifications: Notifications) {}

  async onModuleInit(): Promise<void> {
    await this.notifications.on(autoSignalChannel, (text) => {
      const signal = parseSignal(text);
      if (signal !== null)
        noteSignal(ofOrganisation(this.signals, signal.organisationId), signal.model, signal, Date.now());
    });
  }

  reliabilityFor(organisationId: number | null): readonly Reliability[] {
    return [this.answers, this.signals].flatMap((observations) => observations.get(organisationId) ?? []);
  }

  answered(organisationId: number | null, model: string): void {
    const answer = { failed: 0, answered: 1 };
    noteSignal(ofOrganisation(this.answers, organisationId), model, answer, Date.now());
  }

  driftOf(organisationId: number | null): DriftLevel {
    const drift = organisationId === null ? undefined : this.drifts.get(organisationId);
    return drift === undefined ? 'calm' : driftLevel(drift);
  }

  noteFamiliarity(organisationId: number | null, isUnfamiliar: boolean): void {
    if (organisationId === null) return;
    let drift = this.drifts.get(organisationId);
    if (drift === undefined) {
      if (this.drifts.size >= MAX_ORGANISATIONS) this.drifts.clear();
      this.drifts.set(organisationId, (drift = noDrift()));
    }
    noteFamiliarity(drift, isUnfamiliar);
  }
}

function ofOrganisation(
  observations: Map<number | null, Reliability>,
  organisationId: number | null,
): Reliability {
  const existing = observations.get(organisationId);
  if (existing !== undefined && existing.size < MAX_MODELS) return existing;
  if (observations.size >= MAX_ORGANISATIONS) observations.clear();
  const created: Reliability = new Map();
  observations.set(organisationId, created);
  return created;
}
