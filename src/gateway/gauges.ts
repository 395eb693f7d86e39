import type { Server } from 'node:http';
import { promisify } from 'node:util';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LeanAdapter, Metrics, Settings } from '../platform';
import { CredentialAlarm, LaneHealth } from '../routing';
import { Lifecycle } from './intake';
import { GatewayReadiness } from './readiness';
import { OpenStreams } from './reply/open-streams';

const stateNumbers = { closed: 0, 'half-open': 1, open: 2 } as const;
/** Endpoints without streams report zero instead of their last value. */
const endpoints = ['chat', 'messages', 'responses', 'native', 'completions'];

/** Current values, read when the metrics are scraped. */
@Injectable()
export class Gauges implements OnApplicationBootstrap {
  constructor(
    private readonly metrics: Metrics,
    private readonly settings: Settings,
    private readonly health: LaneHealth,
    private readonly credentials: CredentialAlarm,
    private readonly streams: OpenStreams,
    private readonly lifecycle: Lifecycle,
    private readonly readiness: GatewayReadiness,
    private readonly adapter: LeanAdapter,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.beforeRead(() => this.readValues());
    this.metrics.beforeRead(() => this.readServerState());
  }

  private readValues(): void {
    const { metrics } = this;
    metrics.openRequests.set({}, this.lifecycle.openRequests);
    metrics.openRequestsLimit.set({}, this.settings.openRequestsLimit);
    const counts = this.streams.counts();
    for (const endpoint of endpoints) metrics.streamsActive.set({ endpoint }, counts.get(endpoint) ?? 0);
    for (const { supplier: provider, model, region, state } of this.health.states())
      metrics.circuitState.set({ provider, model, region }, stateNumbers[state]);
    for (const { provider, refused } of this.credentials.states())
      metrics.credentialsRefused.set({ provider }, refused);
    for (const [status, count] of this.adapter.brokenRequests)
      metrics.brokenRequests.at({ status: String(status) }).value = count;
  }

  private async readServerState(): Promise<void> {
    const { metrics } = this;
    const server = this.adapter.getHttpServer() as Server;
    const [ready, connections] = await Promise.all([
      this.readiness.check().then(
        () => 1,
        () => 0,
      ),
      promisify(server.getConnections.bind(server))().catch(() => 0),
    ]);
    metrics.ready.set({}, ready);
    metrics.connections.set({}, connections);
  }
}
