import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database, Logger, Metrics, RepeatingJobs, Settings } from '../../platform';
import { openTarget } from '../target/open-target';
import { type BackupState, NO_BACKUPS } from './backup-state';
import { BackupWork } from './backup-work';

/** The archive is behind by this, and by the minute after which a segment is closed at the latest. */
const SHIP_EVERY_MS = 5_000;
const SHIPPING = 'shipping';
const MAX_RUN_MS = DAY_MS / 2;

/**
 * Ships the log of the embedded database, takes a backup when the newest is old, removes what retention does not need,
 * and restores one aside from time to time. The node that owns the database does it.
 */
@Injectable()
export class BackupKeeper implements BeforeApplicationShutdown {
  private current = NO_BACKUPS;
  private readonly troubles = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private shipping: Promise<void> | undefined;
  private work: BackupWork | undefined;
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

  /** Before the jobs begin. */
  async start(server: { readonly folder: string; readonly ownerUrl: string }): Promise<void> {
    if (this.settings.backupTarget === undefined) return;
    const opened = openTarget(this.settings);
    const work = new BackupWork(opened, server, await this.segmentBytes(), this.settings);
    this.work = work;
    this.change({ isScheduled: true });
    // An installation that was released from quarantine is unprotected until its first backup ends.
    this.addJob({ name: 'backup', cron: '*/10 * * * *', isDueAtStart: true }, (signal) =>
      work.backUp(signal, this.logger, this.database),
    );
    if (this.settings.backupVerifyEveryMs > 0)
      this.addJob({ name: 'backup verification', cron: '25 * * * *' }, (signal) =>
        work.verify(signal, this.database),
      );
    // No other process has this database: whoever claimed these jobs is dead.
    await this.database.query(
      "UPDATE repeating_job SET claim = NULL, claimed_until = NULL WHERE name IN ('backup', 'backup verification')",
    );
    this.keepShipping(work);
    // The start does not wait for a store that is slow or away.
    void this.told('backup', () => work.look(this.database)).catch(() => undefined);
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
    const run = (signal: AbortSignal): Promise<void> => this.told(job.name, () => work(signal));
    this.jobs.add({ ...job, deadlineMs: MAX_RUN_MS, run });
  }

  private keepShipping(work: BackupWork): void {
    const look = (): void => {
      this.shipping ??= this.ship(work).finally(() => (this.shipping = undefined));
    };
    look();
    this.timer = setInterval(look, SHIP_EVERY_MS).unref();
  }

  private async ship(work: BackupWork): Promise<void> {
    const before = this.troubles.get(SHIPPING);
    try {
      await this.told(SHIPPING, async () => {
        await work.ship(this.database, this.stopping.signal);
        return {};
      });
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      // Every few seconds the same line would say nothing new.
      if (before === undefined)
        this.logger.error('the log of the database cannot be shipped to BACKUP_TARGET', { error });
    }
    this.change({ waiting: await work.waiting().catch(() => this.current.waiting) });
  }

  /** What fails is kept for pages until the same work succeeds. */
  private async told(what: string, work: () => Promise<Partial<BackupState>>): Promise<void> {
    try {
      const news = await work();
      this.troubles.delete(what);
      this.change(news);
    } catch (error) {
      this.troubles.set(what, error instanceof Error ? error.message : String(error));
      this.change({});
      throw error;
    }
  }

  private change(news: Partial<BackupState>): void {
    const [trouble = null] = this.troubles.values();
    const coveredUntil = this.work?.coveredUntil ?? null;
    this.current = { ...this.current, ...news, coveredUntil, trouble };
    const { newestAt, verifiedAt, isForeign, waiting } = this.current;
    const set = (gauge: { set(labels: object, value: number): void }, at: Date | null): void => {
      if (at !== null) gauge.set({}, at.getTime() / 1_000);
    };
    // While the target does not answer, or has backups of the time before a restore only, alerts have to see that.
    set(this.metrics.backupSuccess, newestAt ?? (trouble === null && !isForeign ? null : new Date(0)));
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
