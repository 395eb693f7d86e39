import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { MoneyEngine } from '../billing';
import { Database, Logger, Metrics, Settings } from '../platform';
import { alertKind } from './catalogue/kinds';

const INTERVAL_MS = 30_000;

const WRITE = `
  INSERT INTO node_state (node, seen_at, disk_free, disk_free_bytes, journal_ms) VALUES ($1, now(), $2, $3, $4)
  ON CONFLICT ON CONSTRAINT node_state_pkey DO UPDATE SET seen_at = excluded.seen_at, disk_free = excluded.disk_free,
    disk_free_bytes = excluded.disk_free_bytes, journal_ms = excluded.journal_ms`;

@Injectable()
export class NodeWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private pendingRun: Promise<void> = Promise.resolve();
  private readonly reportedLabels = new Map<string, { kind: string; severity: string }>();

  constructor(
    private readonly database: Database,
    private readonly engine: MoneyEngine,
    private readonly metrics: Metrics,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.pendingRun = this.pendingRun.then(() => this.recordAndLog());
    }, INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.pendingRun;
  }

  async recordState(): Promise<void> {
    const { dataFolder } = this.settings;
    const { bavail, blocks, bsize } = await statfs(dataFolder);
    const name = `${hostname()}:${resolve(dataFolder)}`.slice(0, 300);
    await this.database.query(WRITE, [
      name,
      blocks === 0 ? 1 : bavail / blocks,
      bavail * bsize,
      Math.round(this.engine.oldestPendingMs),
    ]);
    await this.updateMetrics();
  }

  private async updateMetrics(): Promise<void> {
    const rows = await this.database.query<{ kind: string; severity: string; count: number }>(
      `SELECT kind, severity, count(*)::integer AS count FROM alert WHERE resolved_at IS NULL GROUP BY kind, severity`,
    );
    for (const [, labels] of this.reportedLabels) this.metrics.alertsFiring.set(labels, 0);
    for (const { kind, severity, count } of rows) {
      if (alertKind(kind) === undefined) continue;
      this.reportedLabels.set(`${kind} ${severity}`, { kind, severity });
      this.metrics.alertsFiring.set({ kind, severity }, count);
    }
  }

  private async recordAndLog(): Promise<void> {
    try {
      await this.recordState();
    } catch (error) {
      this.logger.warn('the state of this node was not put on record', { error });
    }
  }
}
