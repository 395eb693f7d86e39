import { Injectable } from '@nestjs/common';
import { DAY_MS, MINUTE_MS } from '../kernel';
import { Database, Logger, RepeatingJob } from '../platform';
import { AlertStore } from './book/alert.store';
import { type AlertKind, alertKinds } from './catalogue/kinds';
import { AlertChannels } from './channels/alert-channels';
import { AlertDetectors } from './looks/alert-detectors';
import { SpendDays } from './looks/spend-days';
import { AlertRules } from './rules/alert-rules';

const ALERT_RETENTION_MS = 400 * DAY_MS;
const DELIVERY_RETENTION_MS = 30 * DAY_MS;
const NODE_STATE_RETENTION_MS = DAY_MS;
const CLEANUP_INTERVAL_MS = 60 * MINUTE_MS;
const SPEND_DAYS_INTERVAL_MS = 15 * MINUTE_MS;

/** Runs the alert detectors by the database's clock, on one node at a time. */
@Injectable()
export class AlertWatch {
  /** Last run of each task on this node; a node that takes over runs every task immediately. */
  private readonly lastRunAt = new Map<string, number>();
  /** Reason of the last logged failure by kind; absent after a success. */
  private readonly loggedFailures = new Map<string, string>();

  constructor(
    private readonly database: Database,
    private readonly rules: AlertRules,
    private readonly channels: AlertChannels,
    private readonly detectors: AlertDetectors,
    private readonly days: SpendDays,
    private readonly store: AlertStore,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'alerts', cron: '20 * * * * *' })
  async run(signal: AbortSignal): Promise<void> {
    const [row] = await this.database.query<{ now: Date }>('SELECT now() AS now');
    await this.runDetectors(row!.now, signal);
  }

  /** A kind whose detector fails keeps its alerts: a failed query does not resolve anything. */
  async runDetectors(now: Date, signal?: AbortSignal): Promise<void> {
    const [rules, channels, open] = await Promise.all([
      this.rules.loadAll(),
      this.channels.enabled(),
      this.store.openKinds(),
    ]);
    if (this.isDue('spend days', SPEND_DAYS_INTERVAL_MS, now)) await this.days.sumFinishedDays(now);
    const failed: unknown[] = [];
    for (const kind of alertKinds) {
      if (signal?.aborted === true) return;
      if (!this.isDue(kind.name, kind.everyMinutes * MINUTE_MS, now)) continue;
      try {
        const conditions = await this.detectors.byKind[kind.name]({
          now,
          parameters: (owner) => parametersOf(rules.rule(owner, kind)),
          minimum: (name) => rules.minimumOf(kind, name),
        });
        if (conditions.length > 0 || open.has(kind.name))
          await this.store.recordConditions(kind, conditions, { rules, channels, now });
        this.loggedFailures.delete(kind.name);
      } catch (error) {
        failed.push(error);
        this.scheduleRetry(kind);
        this.logFailure(kind, error);
      }
    }
    if (this.isDue('tidying', CLEANUP_INTERVAL_MS, now)) await this.deleteExpired(now);
    // The job fails only if every detector failed, most likely because the database is down.
    if (failed.length === alertKinds.length) throw failed[0];
  }

  private isDue(task: string, everyMs: number, now: Date): boolean {
    const before = this.lastRunAt.get(task) ?? -Infinity;
    // Tolerates an inexact schedule; a clock that was set back does not stop the task.
    const isDue = now.getTime() - before > everyMs - MINUTE_MS / 2 || now.getTime() < before;
    if (isDue) this.lastRunAt.set(task, now.getTime());
    return isDue;
  }

  private scheduleRetry({ name }: AlertKind): void {
    this.lastRunAt.delete(name);
  }

  /** Logs a persistent failure, such as a BASE_URL that does not resolve, once instead of with each retry. */
  private logFailure({ name }: AlertKind, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.loggedFailures.get(name) === reason) return;
    this.loggedFailures.set(name, reason);
    this.logger.warn('alerts of a kind could not be looked for', { kind: name, error });
  }

  private async deleteExpired(now: Date): Promise<void> {
    const before = (ms: number): Date => new Date(now.getTime() - ms);
    await this.database.query('DELETE FROM alert WHERE resolved_at < $1', [before(ALERT_RETENTION_MS)]);
    await this.database.query('DELETE FROM alert_delivery WHERE done_at < $1', [
      before(DELIVERY_RETENTION_MS),
    ]);
    await this.database.query('DELETE FROM node_state WHERE seen_at < $1', [before(NODE_STATE_RETENTION_MS)]);
  }
}

const parametersOf = ({ enabled, parameters }: { enabled: boolean; parameters: object }) =>
  enabled ? parameters : null;
