import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { toJsonNumber } from '../kernel';
import { Metrics } from '../platform';
import { Escrow } from './engine/escrow/escrow';
import type { Slice } from './engine/escrow/slice';
import { MoneyEngine } from './engine/money-engine';

const states = ['free', 'held', 'owed'] as const;

@Injectable()
export class MoneyGauges implements OnApplicationBootstrap {
  constructor(
    private readonly metrics: Metrics,
    private readonly engine: MoneyEngine,
    private readonly escrow: Escrow,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.beforeRead(() => this.read());
  }

  private read(): void {
    const { metrics, engine } = this;
    const { state } = engine;
    metrics.settlementsPending.set({}, engine.pending);
    metrics.walletHoldsUsd.set({}, toJsonNumber(this.escrow.heldMoney));
    metrics.leaseAge.set({}, state.leaseAgeMs / 1_000);
    metrics.leaseValid.set({}, engine.isAdmitting ? 1 : 0);
    metrics.leaseFailures.at({}).value = state.leaseFailures;
    metrics.leaseLapses.at({}).value = state.leaseLapses;
    metrics.journalBytes.set({}, state.journalBytes);
    metrics.journalOldest.set({}, engine.oldestPendingMs / 1_000);
    metrics.journalWritable.set({}, engine.journalError === undefined ? 1 : 0);
    metrics.journalsUnread.set({}, state.unreadJournals);
    metrics.settlementFailures.at({}).value = state.settlements.failures;
    metrics.settlementsRefused.at({}).value = state.settlements.refused;
    metrics.settlementsWithdrawn.at({}).value = state.settlements.withdrawn;
    this.readSlices(state.slices);
  }

  private readSlices(slices: Iterable<Slice>): void {
    const { drawnUsd } = this.metrics;
    // A scope with nothing drawn is reported as 0 rather than with its last value.
    for (const { state } of drawnUsd.all()) state.value = 0;
    for (const { ref, window, free, held, drawn } of slices) {
      if (window === null) continue;
      const amounts = { free, held, owed: drawn - free - held };
      for (const state of states) drawnUsd.add({ scope: ref.kind, state }, toJsonNumber(amounts[state]));
    }
  }
}
