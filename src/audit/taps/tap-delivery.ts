import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { MINUTE_MS, monotonicMs, uuidv7 } from '../../kernel';
import { Database, Logger, Metrics, Settings } from '../../platform';
import type { RegisteredTap } from './registered-tap';
import { TapCounts } from './tap-counts';
import { type TapStatus, TapRows } from './tap-rows';
import { TapRun } from './tap-run';
import { Taps } from './taps';

/** Maximum time that a settled request waits before an idle tap receives it. */
const POLL_INTERVAL_MS = 500;
const PAUSE_WITHOUT_DATABASE_MS = 1_000;
const MEASURE_INTERVAL_MS = 15_000;
/** Counting a long backlog is slow, so it may take at most 1/50 of the time. */
const MEASURING_SHARE = 50;
const ANNOUNCE_INTERVAL_MS = MINUTE_MS;
/** Time for the database in addition to a delivery, before another node can take the claim. */
const GRACE_MS = 5_000;

/** Delivers settled requests to taps, each on one node at a time. Idle without taps. */
@Injectable()
export class TapDelivery implements OnModuleInit, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly names: readonly string[];
  private readonly rows: TapRows;
  private readonly counts: TapCounts;
  private readonly running = new Map<string, Promise<void>>();
  private readonly stopping = new AbortController();
  private polling?: Promise<void>;
  private measureAt = -Infinity;
  private announcedAt = -Infinity;
  private isAway = false;

  constructor(
    private readonly taps: Taps,
    database: Database,
    metrics: Metrics,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {
    this.names = taps.all.map(({ name }) => name);
    this.rows = new TapRows(database);
    this.counts = new TapCounts(metrics, new Set(this.names));
  }

  /** A new tap receives requests settled from now on, so it is announced before the first request is served. */
  async onModuleInit(): Promise<void> {
    if (this.names.length > 0) await this.announce();
  }

  start(): void {
    if (this.names.length === 0 || this.settings.workers === 'off') return;
    this.polling = this.pollUntilStopped();
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** The database is still connected, so that claims can be released. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.polling;
    await Promise.allSettled(this.running.values());
  }

  private async pollUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    for (let pause = 0; await delay(pause, true, { signal, ref: false }).catch(() => false);) {
      try {
        await this.poll();
        pause = POLL_INTERVAL_MS;
        this.isAway = false;
      } catch (error) {
        pause = PAUSE_WITHOUT_DATABASE_MS;
        if (!this.isAway) this.logger.warn('taps cannot be looked up', { error });
        this.isAway = true;
      }
    }
  }

  private async poll(): Promise<void> {
    const statuses = await this.rows.readStatuses(this.names);
    const now = monotonicMs();
    // A missing row was deleted by a command: the tap starts from now.
    if (statuses.length < this.names.length || now - this.announcedAt > ANNOUNCE_INTERVAL_MS)
      await this.announce();
    for (const status of statuses) {
      this.counts.oldest(status.name, status.oldestMs);
      this.runIfDue(status);
    }
    if (now > this.measureAt) await this.measure();
  }

  private async announce(): Promise<void> {
    await this.rows.announce(this.names);
    this.announcedAt = monotonicMs();
  }

  private async measure(): Promise<void> {
    const startedMs = monotonicMs();
    for (const [name, count] of await this.rows.backlogs(this.names)) this.counts.backlog(name, count);
    const endedMs = monotonicMs();
    this.measureAt = endedMs + Math.max(MEASURE_INTERVAL_MS, (endedMs - startedMs) * MEASURING_SHARE);
  }

  private runIfDue({ name, dueInMs, isClaimed, oldestMs, isAsked }: TapStatus): void {
    const tap = this.taps.find(name);
    if (tap === undefined) return;
    const hasWork = (oldestMs !== null && oldestMs >= tap.everyMs) || isAsked;
    if (!hasWork || isClaimed || dueInMs > 0 || this.running.has(name)) return;
    const run = this.run(tap)
      .catch((error: unknown) => this.logger.warn('a tap waits for the database', { tap: name, error }))
      .finally(() => this.running.delete(name));
    this.running.set(name, run);
  }

  private async run(tap: RegisteredTap): Promise<void> {
    const { rows, counts, logger } = this;
    const leaseMs = tap.timeoutMs + GRACE_MS;
    const claim = { name: tap.name, id: uuidv7(), leaseMs };
    const failures = await rows.claim(claim);
    if (failures === undefined) return;
    try {
      await new TapRun(tap, claim, { rows, counts, logger, stopping: this.stopping.signal }).run(failures);
    } finally {
      // The claim also expires if this fails.
      await rows.release(claim).catch(() => undefined);
    }
  }
}
