import { Injectable } from '@nestjs/common';
import { DAY_MS, MINUTE_MS } from '../kernel';
import { Database, Logger, RepeatingJob } from '../platform';
import { AlertBook } from './book/alert-book';
import { type AlertKind, alertKinds } from './catalogue/kinds';
import { AlertChannels } from './channels/alert-channels';
import { AlertLooks } from './looks/alert-looks';
import { SpendDays } from './looks/spend-days';
import { AlertRules } from './rules/alert-rules';

const KEPT_ALERTS_MS = 400 * DAY_MS;
const KEPT_DELIVERIES_MS = 30 * DAY_MS;
const KEPT_NODES_MS = DAY_MS;
const TIDIED_EVERY_MS = 60 * MINUTE_MS;
const DAYS_KEPT_EVERY_MS = 15 * MINUTE_MS;

/** Looks for alerts, by the database's clock, on one node at a time. */
@Injectable()
export class AlertWatch {
  /** When this node last did each thing: another one that takes over looks at once. */
  private readonly doneAt = new Map<string, number>();
  /** Reason of the last failure that was logged, by kind; absent after a success. */
  private readonly loggedFailures = new Map<string, string>();

  constructor(
    private readonly database: Database,
    private readonly rules: AlertRules,
    private readonly channels: AlertChannels,
    private readonly looks: AlertLooks,
    private readonly days: SpendDays,
    private readonly book: AlertBook,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'alerts', cron: '20 * * * * *' })
  async run(signal: AbortSignal): Promise<void> {
    const [row] = await this.database.query<{ now: Date }>('SELECT now() AS now');
    await this.look(row!.now, signal);
  }

  /** A kind that cannot be looked for keeps what it has: nothing is over because a query failed. */
  async look(now: Date, signal?: AbortSignal): Promise<void> {
    const [rules, channels, open] = await Promise.all([
      this.rules.book(),
      this.channels.enabled(),
      this.book.openKinds(),
    ]);
    if (this.isDue('spend days', DAYS_KEPT_EVERY_MS, now)) await this.days.keep(now);
    const failed: unknown[] = [];
    for (const kind of alertKinds) {
      if (signal?.aborted === true) return;
      if (!this.isDue(kind.name, kind.everyMinutes * MINUTE_MS, now)) continue;
      try {
        const conditions = await this.looks.of[kind.name]({
          now,
          parameters: (owner) => parametersOf(rules.rule(owner, kind)),
          least: (name) => rules.least(kind, name),
        });
        // Most kinds find nothing and have nothing that could be over.
        if (conditions.length > 0 || open.has(kind.name))
          await this.book.enter(kind, conditions, { rules, channels, now });
        this.loggedFailures.delete(kind.name);
      } catch (error) {
        failed.push(error);
        this.retry(kind);
        this.logFailure(kind, error);
      }
    }
    if (this.isDue('tidying', TIDIED_EVERY_MS, now)) await this.tidy(now);
    // The job counts as failed where nothing could be looked for: the database is away, most likely.
    if (failed.length === alertKinds.length) throw failed[0];
  }

  private isDue(what: string, everyMs: number, now: Date): boolean {
    const before = this.doneAt.get(what) ?? -Infinity;
    // The schedule is not exact to the second; a clock that was put back does not stop it.
    const isDue = now.getTime() - before > everyMs - MINUTE_MS / 2 || now.getTime() < before;
    if (isDue) this.doneAt.set(what, now.getTime());
    return isDue;
  }

  private retry({ name }: AlertKind): void {
    this.doneAt.delete(name);
  }

  /** A failure that lasts, such as a BASE_URL without an address, is logged once and not with each retry. */
  private logFailure({ name }: AlertKind, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.loggedFailures.get(name) === reason) return;
    this.loggedFailures.set(name, reason);
    this.logger.warn('alerts of a kind could not be looked for', { kind: name, error });
  }

  private async tidy(now: Date): Promise<void> {
    const before = (ms: number): Date => new Date(now.getTime() - ms);
    await this.database.query('DELETE FROM alert WHERE resolved_at < $1', [before(KEPT_ALERTS_MS)]);
    await this.database.query('DELETE FROM alert_delivery WHERE done_at < $1', [before(KEPT_DELIVERIES_MS)]);
    await this.database.query('DELETE FROM node_state WHERE seen_at < $1', [before(KEPT_NODES_MS)]);
  }
}

const parametersOf = ({ enabled, parameters }: { enabled: boolean; parameters: object }) =>
  enabled ? parameters : null;
