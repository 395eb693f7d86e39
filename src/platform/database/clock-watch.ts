import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { withDeadline } from '../../kernel';
import { Database } from './database';
import { DatabaseClock } from './database-clock';

/** Machines that keep their time by NTP stay below this difference. */
export const CLOCK_TOLERANCE_MS = 5_000;
const POLL_MS = 250;
const MAX_READING_AGE_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * Compares this machine's clock with the database's, since a wrong clock would start jobs at the wrong time. Between
 * two readings the monotonic clock detects jumps.
 */
@Injectable()
export class ClockWatch implements OnModuleDestroy {
  private readonly logger = new Logger(ClockWatch.name);
  private readonly stopping = new AbortController();
  private readonly database: DatabaseClock = new DatabaseClock();
  private readonly listeners: ((isAccurate: boolean) => void)[] = [];
  private readAt = -Infinity;
  private wasAccurate?: boolean;
  private watching?: Promise<void>;

  constructor(private readonly source: Database) {}

  /** Calls the listener at the first reading, and at every change after that. */
  watch(listener: (isAccurate: boolean) => void): void {
    this.listeners.push(listener);
    this.watching ??= this.keepWatching();
  }

  /** Lead of this clock; undefined before the database has responded. */
  get aheadMs(): number | undefined {
    return this.readAt === -Infinity ? undefined : Date.now() - this.database.now();
  }

  get isRight(): boolean {
    return Math.abs(this.aheadMs ?? Infinity) <= CLOCK_TOLERANCE_MS;
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  private async keepWatching(): Promise<void> {
    const { signal } = this.stopping;
    do {
      // An unresponsive database is reported elsewhere; the last reading stays valid.
      await this.readDatabaseClock().catch(() => undefined);
      this.reportChange();
    } while (await delay(POLL_MS, true, { signal, ref: false }).catch(() => false));
  }

  private async readDatabaseClock(): Promise<void> {
    const requestedAt = this.database.elapsedMs();
    if (requestedAt - this.readAt < MAX_READING_AGE_MS) return;
    const reading = this.source.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    const [row] = await withDeadline(RESPONSE_TIMEOUT_MS, reading);
    if (row === undefined) return;
    this.database.synchronise(row.now, requestedAt);
    this.readAt = requestedAt;
  }

  private reportChange(): void {
    const { aheadMs, isRight } = this;
    if (aheadMs === undefined || isRight === this.wasAccurate) return;
    const difference = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's`;
    if (!isRight)
      this.logger.error(
        `The clock of this machine is ${difference}: this node takes no jobs until it is right.`,
      );
    else if (this.wasAccurate === false)
      this.logger.log('The clock of this machine is right again; jobs are taken.');
    this.wasAccurate = isRight;
    for (const listener of this.listeners) listener(isRight);
  }
}
