import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Escrow, MoneyEngine } from '../billing';
import { formatUsd } from '../kernel';
import { Metrics } from '../platform';
import { LaneHealth } from '../routing';
import { OpenStreams } from './reply/open-streams';

const stateNumbers = { closed: 0, 'half-open': 1, open: 2 } as const;
/** Endpoints that had streams once are shown with none, instead of with their last number. */
const endpoints = ['chat', 'messages', 'responses', 'native', 'completions'];

/** Current values, read when the metrics are scraped. */
@Injectable()
export class Gauges implements OnApplicationBootstrap {
  constructor(
    private readonly metrics: Metrics,
    private readonly engine: MoneyEngine,
    private readonly escrow: Escrow,
    private readonly health: LaneHealth,
    private readonly streams: OpenStreams,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.beforeRead(() => this.read());
  }

  private read(): void {
    const { metrics } = this;
    metrics.settlementsPending.set({}, this.engine.pending);
    metrics.walletHoldsUsd.set({}, Number(formatUsd(this.escrow.heldMoney)));
    const counts = this.streams.counts();
    for (const endpoint of endpoints) metrics.streamsActive.set({ endpoint }, counts.get(endpoint) ?? 0);
    for (const { supplier: provider, model, region, state } of this.health.states())
      metrics.circuitState.set({ provider, model, region }, stateNumbers[state]);
  }
}
