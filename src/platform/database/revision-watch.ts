import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Database } from './database';
import { DatabaseClock } from './database-clock';
import type { Notifications } from './notifications';

interface RevisionWatchOptions {
  /** Subject of log messages, such as "The catalogue". */
  readonly subject: string;
  readonly channel: string;
  /** The table whose only row carries the revision. */
  readonly table: string;
  /**
   * Applies a change; retried after an exception. `change` is the announcement's text after its revision, or null if
   * announcements might be lost, so that anything could have changed.
   */
  onChange(change: string | null, revision: bigint): void | Promise<void>;
}

const POLL_MS = 500;
const RESPONSE_TIMEOUT_MS = 2_000;

/**
 * Detects that a node's copy is stale. Announcements are lost during a disconnect, so the revision is also polled; one
 * with the next revision is applied without a query.
 */
export class RevisionWatch {
  /** Clock for instants that all nodes have to agree on. */
  readonly clock = new DatabaseClock();
  private readonly logger = new Logger(RevisionWatch.name);
  private readonly stopping = new AbortController();
  private readonly unsubscribe: (() => void)[] = [];
  /** Null if the copy might not match any revision. */
  private appliedRevision: bigint | null = null;
  /** True if a change might not have been applied: the connection of announcements then proves nothing. */
  private isBehind = true;
  private refreshedAt = -Infinity;
  private refreshing?: Promise<void>;
  private refreshAgain = false;
  private applying: Promise<void> = Promise.resolve();
  private polling?: Promise<void>;
  private isUnavailable = false;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly options: RevisionWatchOptions,
  ) {}

  /** Loads the first copy, by a change of null; fails if that does. */
  async start(): Promise<void> {
    this.unsubscribe.push(
      await this.notifications.on(this.options.channel, (payload) => this.receive(payload)),
      this.notifications.onGap(() => this.markStale()),
    );
    await this.refreshOnce();
    this.polling = this.poll();
  }

  /** Must be called before the database closes its connections. */
  async stop(): Promise<void> {
    for (const end of this.unsubscribe) end();
    this.stopping.abort();
    await this.polling;
    await this.refreshing;
  }

  /** Time of the monotonic clock at which the copy was last known to be current. */
  get confirmedAt(): number {
    const notifiedAt = this.isBehind ? undefined : this.notifications.lastConfirmedAt;
    return notifiedAt === undefined ? this.refreshedAt : Math.max(notifiedAt, this.refreshedAt);
  }

  confirmedWithin(milliseconds: number): boolean {
    return monotonicMs() - this.confirmedAt <= milliseconds;
  }

  async catchUp(): Promise<void> {
    await this.applying;
    await this.refresh();
  }

  private receive(payload: string): void {
    const [, number, change] = /^(\d+) (.*)$/s.exec(payload) ?? [];
    if (number === undefined || change === undefined || this.appliedRevision === null)
      return this.markStale();
    const revision = BigInt(number);
    if (revision <= this.appliedRevision) return;
    if (revision > this.appliedRevision + 1n) return this.markStale();
    this.appliedRevision = revision;
    this.applying = this.applyChange(change, revision).catch((error: unknown) => {
      this.appliedRevision = null;
      this.isBehind = true;
      this.reportUnavailable(error);
    });
  }

  private async applyChange(change: string | null, revision: bigint): Promise<void> {
    await this.options.onChange(change, revision);
  }

  private markStale(): void {
    this.isBehind = true;
    void this.refresh();
  }

  /**
   * Runs one refresh at a time. A call during a refresh triggers another, since the running one might be older than the
   * change.
   */
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
        this.reportAvailable();
      } catch (error) {
        this.reportUnavailable(error);
      }
    }
  }

  private async refreshOnce(): Promise<void> {
    const startedAt = monotonicMs();
    const before = this.appliedRevision;
    const revision = await this.readRevision();
    // Lower than before the query: the database was restored to an earlier state.
    const changed =
      this.appliedRevision === null ||
      revision > this.appliedRevision ||
      (before !== null && revision < before);
    if (changed) {
      await this.applyChange(null, revision);
      this.appliedRevision = revision;
    }
    this.refreshedAt = startedAt;
    if (!this.refreshAgain) this.isBehind = false;
  }

  private async readRevision(): Promise<bigint> {
    const requestedAt = this.clock.elapsedMs();
    const reading = this.database.query<{ revision: string; now: number }>(
      `SELECT revision, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now FROM ${this.options.table}`,
    );
    const [row] = await withDeadline(RESPONSE_TIMEOUT_MS, reading);
    if (row === undefined) throw new Error(`${this.options.table} is empty`);
    this.clock.synchronise(row.now, requestedAt);
    return BigInt(row.revision);
  }

  private async poll(): Promise<void> {
    const { signal } = this.stopping;
    while (await delay(POLL_MS, true, { signal, ref: false }).catch(() => false)) await this.refresh();
  }

  /** Warns once per outage. */
  private reportUnavailable(error: unknown): void {
    if (!this.isUnavailable && !this.stopping.signal.aborted)
      this.logger.warn(`${this.options.subject} cannot be read; the last copy stays: ${String(error)}`);
    this.isUnavailable = true;
  }

  private reportAvailable(): void {
    if (this.isUnavailable) this.logger.log(`${this.options.subject} can be read again.`);
    this.isUnavailable = false;
  }
}
