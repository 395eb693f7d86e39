import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { MINUTE_MS, monotonicMs, uuidv7 } from '../../kernel';
import { Database, Logger, Metrics, Settings } from '../../platform';
import type { HeldTap } from './held-tap';
import { TapCounts } from './tap-counts';
import { type TapLook, TapRows } from './tap-rows';
import { TapRun } from './tap-run';
import { Taps } from './taps';

/** A settled request waits so long at most before a tap that has nothing to do gets it. */
const PAUSE_MS = 500;
const PAUSE_WITHOUT_DATABASE_MS = 1_000;
const MEASURED_EVERY_MS = 15_000;
/** To count a long backlog takes a while: one part in so many of the time at most. */
const MEASURING_SHARE = 50;
const ANNOUNCED_EVERY_MS = MINUTE_MS;
/** The time that the database may take beside a delivery before another node may have the claim. */
const GRACE_MS = 5_000;

/** Delivers what was settled to taps, each on one of the nodes at a time. Without a tap it does nothing. */
@Injectable()
export class TapDelivery implements OnModuleInit, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly names: readonly string[];
  private readonly rows: TapRows;
  private readonly counts: TapCounts;
  private readonly running = new Map<string, Promise<void>>();
  private readonly stopping = new AbortController();
  private looking?: Promise<void>;
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

  /** A new tap gets what is settled from now on, so before the first request is served. */
  async onModuleInit(): Promise<void> {
    if (this.names.length > 0) await this.announce();
  }

  start(): void {
    if (this.names.length === 0 || this.settings.workers === 'off') return;
    this.looking = this.keepLooking();
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** The database is still there, and claims are given back. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.looking;
    await Promise.allSettled(this.running.values());
  }

  private async keepLooking(): Promise<void> {
    const { signal } = this.stopping;
    for (let pause = 0; await delay(pause, true, { signal, ref: false }).catch(() => false);) {
      try {
        await this.look();
        pause = PAUSE_MS;
        this.isAway = false;
      } catch (error) {
        pause = PAUSE_WITHOUT_DATABASE_MS;
        if (!this.isAway) this.logger.warn('taps cannot be looked up', { error });
        this.isAway = true;
      }
    }
  }

  private async look(): Promise<void> {
    const looks = await this.rows.look(this.names);
    const now = monotonicMs();
    // A row that is missing was taken away by a command: the tap begins anew.
    if (looks.length < this.names.length || now - this.announcedAt > ANNOUNCED_EVERY_MS)
      await this.announce();
    for (const look of looks) {
      this.counts.oldest(look.name, look.oldestMs);
      this.runWhere(look);
    }
    if (now > this.measureAt) await this.measure();
  }

  private async announce(): Promise<void> {
    await this.rows.announce(this.names);
    this.announcedAt = monotonicMs();
  }

  private async measure(): Promise<void> {
    const begun = monotonicMs();
    for (const [name, count] of await this.rows.backlogs(this.names)) this.counts.backlog(name, count);
    const ended = monotonicMs();
    this.measureAt = ended + Math.max(MEASURED_EVERY_MS, (ended - begun) * MEASURING_SHARE);
  }

  private runWhere({ name, dueInMs, isClaimed, oldestMs, isAsked }: TapLook): void {
    const tap = this.taps.named(name);
    if (tap === undefined) return;
    const hasWork = (oldestMs !== null && oldestMs >= tap.everyMs) || isAsked;
    if (!hasWork || isClaimed || dueInMs > 0 || this.running.has(name)) return;
    const run = this.run(tap)
      .catch((error: unknown) => this.logger.warn('a tap waits for the database', { tap: name, error }))
      .finally(() => this.running.delete(name));
    this.running.set(name, run);
  }

  private async run(tap: HeldTap): Promise<void> {
    const { rows, counts, logger } = this;
    const leaseMs = tap.timeoutMs + GRACE_MS;
    const claim = { name: tap.name, id: uuidv7(), leaseMs };
    const failures = await rows.claim(claim);
    if (failures === undefined) return;
    try {
      await new TapRun(tap, claim, { rows, counts, logger, stopping: this.stopping.signal }).go(failures);
    } finally {
      // It ends by itself where this fails, too.
      await rows.release(claim).catch(() => undefined);
    }
  }
}
