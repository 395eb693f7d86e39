import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Database } from './database';
import { DatabaseClock } from './database-clock';
import type { Notifications } from './notifications';

interface RevisionWatchOptions {
  /** Names what is watched in the log, such as "The catalogue". */
  readonly subject: string;
  readonly channel: string;
  /** The table whose only row carries the revision. */
  readonly table: string;
  /**
   * Applies a change. `change` is the announcement's text after its revision; null when announcements may be lost, so
   * that anything may have changed. It is retried after an exception.
   */
  onChange(change: string | null, revision: bigint): void | Promise<void>;
}

const POLL_MS = 500;
const ANSWER_DEADLINE_MS = 2_000;

/**
 * Tells a node that its copy is stale. Announcements arrive within milliseconds, but are lost during a disconnect, so
 * the revision is polled twice a second. An announcement with the next revision in order is applied without a query.
 */
export class RevisionWatch {
  /** It times what begins or ends at an instant that all nodes have to agree on. */
  readonly clock = new DatabaseClock();
  private readonly logger = new Logger(RevisionWatch.name);
  private readonly stopping = new AbortController();
  private readonly unsubscribe: (() => void)[] = [];
  /** It is null when it is not certain that the copy is of any revision. */
  private seen: bigint | null = null;
  /** A change may exist that was not applied: then the announcements' connection proves nothing. */
  private behind = true;
  private refreshedAt = -Infinity;
  private refreshing?: Promise<void>;
  private refreshAgain = false;
  private applying: Promise<void> = Promise.resolve();
  private polling?: Promise<void>;
  private away = false;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly options: RevisionWatchOptions,
  ) {}

  /** Takes the first copy, by a change of null; fails when that does. */
  async start(): Promise<void> {
    this.unsubscribe.push(
      await this.notifications.on(this.options.channel, (payload) => this.receive(payload)),
      this.notifications.onGap(() => this.doubt()),
    );
    await this.refreshOnce();
    this.polling = this.poll();
  }

  /** It stops before the database closes its connections. */
  async stop(): Promise<void> {
    for (const end of this.unsubscribe) end();
    this.stopping.abort();
    await this.polling;
    await this.refreshing;
  }

  /** The copy was last known to be the newest at this time of the monotonic clock. */
  get confirmedAt(): number {
    const notifiedAt = this.behind ? undefined : this.notifications.lastConfirmedAt;
    return notifiedAt === undefined ? this.refreshedAt : Math.max(notifiedAt, this.refreshedAt);
  }

  confirmedWithin(milliseconds: number): boolean {
    return monotonicMs() - this.confirmedAt <= milliseconds;
  }

  /** Settles once the copy is of the newest revision. */
  async caughtUp(): Promise<void> {
    await this.applying;
    await this.refresh();
  }

  private receive(payload: string): void {
    const [, number, change] = /^(\d+) (.*)$/s.exec(payload) ?? [];
    if (number === undefined || change === undefined || this.seen === null) return this.doubt();
    const revision = BigInt(number);
    if (revision <= this.seen) return;
    if (revision > this.seen + 1n) return this.doubt();
    this.seen = revision;
    this.applying = this.take(change, revision).catch((error: unknown) => {
      this.seen = null;
      this.behind = true;
      this.gone(error);
    });
  }

  private async take(change: string | null, revision: bigint): Promise<void> {
    await this.options.onChange(change, revision);
  }

  private doubt(): void {
    this.behind = true;
    void this.refresh();
  }

  /** One look at a time. A call during one gets the next, because the running one may be older than the change. */
  private refresh(): Promise<void> {
    this.refreshAgain = true;
    this.refreshing ??= this.refreshUntilSettled().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  private async refreshUntilSettled(): Promise<void> {
    while (this.refreshAgain && !this.stopping.signal.aborted) {
      this.refreshAgain = false;
      try {
        await this.refreshOnce();
        this.back();
      } catch (error) {
        this.gone(error);
      }
    }
  }

  private async refreshOnce(): Promise<void> {
    const asked = monotonicMs();
    const before = this.seen;
    const revision = await this.read();
    // Lower than before it was asked for: the database was put back to an earlier state.
    const changed = this.seen === null || revision > this.seen || (before !== null && revision < before);
    if (changed) {
      await this.take(null, revision);
      this.seen = revision;
    }
    this.refreshedAt = asked;
    if (!this.refreshAgain) this.behind = false;
  }

  private async read(): Promise<bigint> {
    const askedAt = this.clock.elapsedMs();
    const reading = this.database.query<{ revision: string; now: number }>(
      `SELECT revision, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now FROM ${this.options.table}`,
    );
    const [row] = await withDeadline(ANSWER_DEADLINE_MS, reading);
    if (row === undefined) throw new Error(`${this.options.table} is empty`);
    this.clock.synchronise(row.now, askedAt);
    return BigInt(row.revision);
  }

  private async poll(): Promise<void> {
    const { signal } = this.stopping;
    while (await delay(POLL_MS, true, { signal, ref: false }).catch(() => false)) await this.refresh();
  }

  /** It warns once an outage, not twice a second. */
  private gone(error: unknown): void {
    if (!this.away && !this.stopping.signal.aborted)
      this.logger.warn(`${this.options.subject} cannot be read; the last copy stays: ${String(error)}`);
    this.away = true;
  }

  private back(): void {
    if (this.away) this.logger.log(`${this.options.subject} can be read again.`);
    this.away = false;
  }
}
