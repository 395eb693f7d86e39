import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database, Logger, Metrics, RepeatingJobs, Settings } from '../../platform';
import { openTarget } from '../target/open-target';
import { type BackupState, NO_BACKUPS } from './backup-state';
import { BackupTasks } from './backup-tasks';

/** Maximum lag of the archive, in addition to the minute after which a segment is closed. */
const SHIP_INTERVAL_MS = 5_000;
const SHIPPING = 'shipping';
const MAX_RUN_MS = DAY_MS / 2;

/**
 * Ships the log of the embedded database, takes a backup when the newest is old, removes what retention does not need,
 * and regularly verifies a backup. Runs on the node that owns the database.
 */
@Injectable()
export class BackupScheduler implements BeforeApplicationShutdown {
  private current = NO_BACKUPS;
  private readonly problems = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private shipping: Promise<void> | undefined;
  private work: BackupTasks | undefined;
  private readonly stopping = new AbortController();

  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly jobs: RepeatingJobs,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  get state(): BackupState {
    return this.current;
  }

  /** Must be called before the jobs start. */
  async start(server: { readonly folder: string; readonly ownerUrl: string }): Promise<void> {
    if (this.settings.backupTarget === undefined) return;
    const opened = openTarget(this.settings);
    const work = new BackupTasks(opened, server, await this.segmentBytes(), this.settings);
    this.work = work;
    this.updateState({ isScheduled: true });
    // An installation released from quarantine is unprotected until its first backup ends.
    this.addJob({ name: 'backup', cron: '*/10 * * * *', isDueAtStart: true }, (signal) =>
      work.backUp(signal, this.logger, this.database),
    );
    if (this.settings.backupVerifyEveryMs > 0)
      this.addJob({ name: 'backup verification', cron: '25 * * * *' }, (signal) =>
        work.verify(signal, this.database),
      );
    // No other process uses this database, so whoever claimed these jobs is dead.
    await this.database.query(
      "UPDATE repeating_job SET claim = NULL, claimed_until = NULL WHERE name IN ('backup', 'backup verification')",
    );
    this.scheduleShipping(work);
    // The start does not wait for a slow or unavailable target.
    void this.track('backup', () => work.readState(this.database)).catch(() => undefined);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    this.stopping.abort();
    await this.shipping;
    // The segment that is open now is shipped after the next start.
    await this.work?.mark(this.database).catch(() => undefined);
  }

  private addJob(
    job: { readonly name: string; readonly cron: string; readonly isDueAtStart?: true },
    work: (signal: AbortSignal) => Promise<Partial<BackupState>>,
  ): void {
    const run = (signal: AbortSignal): Promise<void> => this.track(job.name, () => work(signal));
    this.jobs.add({ ...job, deadlineMs: MAX_RUN_MS, run });
  }

  private scheduleShipping(work: BackupTasks): void {
    const ship = (): void => {
      this.shipping ??= this.ship(work).finally(() => (this.shipping = undefined));
    };
    ship();
    this.timer = setInterval(ship, SHIP_INTERVAL_MS).unref();
  }

  private async ship(work: BackupTasks): Promise<void> {
    const previousProblem = this.problems.get(SHIPPING);
    try {
      await this.track(SHIPPING, async () => {
        await work.ship(this.database, this.stopping.signal);
        return {};
      });
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      // Logs only the first failure, not the same line every few seconds.
      if (previousProblem === undefined)
        this.logger.error('the log of the database cannot be shipped to BACKUP_TARGET', { error });
    }
    this.updateState({ waiting: await work.waiting().catch(() => this.current.waiting) });
  }

  /** Keeps a failure for pages until the same work succeeds. */
  private async track(name: string, work: () => Promise<Partial<BackupState>>): Promise<void> {
    try {
      const changes = await work();
      this.problems.delete(name);
      this.updateState(changes);
    } catch (error) {
      this.problems.set(name, error instanceof Error ? error.message : String(error));
      this.updateState({});
      throw error;
    }
  }

  private updateState(changes: Partial<BackupState>): void {
    const [problem = null] = this.problems.values();
    const coveredUntil = this.work?.coveredUntil ?? null;
    this.current = { ...this.current, ...changes, coveredUntil, trouble: problem };
    const { newestAt, verifiedAt, isForeign, waiting } = this.current;
    const set = (gauge: { set(labels: object, value: number): void }, at: Date | null): void => {
      if (at !== null) gauge.set({}, at.getTime() / 1_000);
    };
    // Alerts must fire while the target does not respond, or contains only backups from before a restore.
    set(this.metrics.backupSuccess, newestAt ?? (problem === null && !isForeign ? null : new Date(0)));
    set(this.metrics.backupVerified, verifiedAt);
    set(this.metrics.backupCovered, coveredUntil ?? (isForeign ? new Date(0) : null));
    this.metrics.backupWaiting.set({}, waiting);
  }

  private async segmentBytes(): Promise<number> {
    const [row] = await this.database.query<{ bytes: number }>(
      "SELECT pg_size_bytes(current_setting('wal_segment_size'))::int AS bytes",
    );
    if (row === undefined) throw new Error('the database says nothing of itself');
    return row.bytes;
  }
}
