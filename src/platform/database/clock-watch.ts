import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { withDeadline } from '../../kernel';
import { Database } from './database';
import { DatabaseClock } from './database-clock';

/** Machines that keep their time by NTP never reach this difference. */
export const CLOCK_TOLERANCE_MS = 5_000;
const POLL_MS = 250;
const READING_AGE_MS = 10_000;
const ANSWER_DEADLINE_MS = 5_000;

/**
 * Compares this machine's clock with the database's. A date of this process alone begins or ends some work,
 * such as a job that is put off. When this clock is wrong, that is wrong on all nodes. Between two readings
 * the monotonic clock tells of a jump.
 */
@Injectable()
export class ClockWatch implements OnModuleDestroy {
  private readonly logger = new Logger(ClockWatch.name);
  private readonly stopping = new AbortController();
  private readonly database: DatabaseClock = new DatabaseClock();
  private readonly listeners: ((isRight: boolean) => void)[] = [];
  private readAt = -Infinity;
  private said?: boolean;
  private watching?: Promise<void>;

  constructor(private readonly source: Database) {}

  /** Calls the listener at the first reading, and at every change after it. */
  watch(listener: (isRight: boolean) => void): void {
    this.listeners.push(listener);
    this.watching ??= this.keepWatching();
  }

  /** This clock is so far ahead; undefined before the database has answered. */
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
      // A database that does not answer is told by others; the last reading stays good.
      await this.read().catch(() => undefined);
      this.tell();
    } while (await delay(POLL_MS, true, { signal, ref: false }).catch(() => false));
  }

  private async read(): Promise<void> {
    const askedAt = this.database.elapsedMs();
    if (askedAt - this.readAt < READING_AGE_MS) return;
    const reading = this.source.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    const [row] = await withDeadline(ANSWER_DEADLINE_MS, reading);
    if (row === undefined) return;
    this.database.synchronise(row.now, askedAt);
    this.readAt = askedAt;
  }

  private tell(): void {
    const { aheadMs, isRight } = this;
    if (aheadMs === undefined || isRight === this.said) return;
    const apart = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's`;
    if (!isRight)
      this.logger.error(`The clock of this machine is ${apart}: this node takes no jobs until it is right.`);
    else if (this.said === false)
      this.logger.log('The clock of this machine is right again; jobs are taken.');
    this.said = isRight;
    for (const listener of this.listeners) listener(isRight);
  }
}
