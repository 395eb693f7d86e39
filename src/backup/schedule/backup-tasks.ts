import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { HOUR_MS, MINUTE_MS, monotonicMs } from '../../kernel';
import { archiveFolderOf, type Database, type Logger, type Settings } from '../../platform';
import { coverageOf, readInventory } from '../backups';
import type { Manifest } from '../manifest';
import { pruneBackups } from '../prune';
import type { OpenedTarget } from '../target/open-target';
import { isHistory } from '../wal/segments';
import { WalArchive } from '../wal/wal-archive';
import { readMark, WalShipper } from '../wal/wal-shipper';
import type { BackupState } from './backup-state';
import { LogCoverage } from './log-reach';
import { runInProcess } from './run-in-process';

/** Maximum time until a segment is closed, and thus the maximum missing from the archive. */
const SEGMENT_MS = MINUTE_MS;

export class BackupTasks {
  private readonly archive: WalArchive;
  private readonly shipper: WalShipper;
  private readonly reach: LogCoverage;
  private hasHistory = false;
  /** An earlier process might have left a segment open for as long. */
  private closedAt = -Infinity;

  constructor(
    private readonly opened: OpenedTarget,
    /** Location of the files of this node's embedded server. */
    private readonly server: { readonly folder: string; readonly ownerUrl: string },
    segmentBytes: number,
    private readonly settings: Settings,
  ) {
    this.archive = new WalArchive(opened.target, opened.key);
    const folder = archiveFolderOf(server.folder);
    this.reach = new LogCoverage(segmentBytes);
    this.shipper = new WalShipper({ folder, archive: this.archive, segmentBytes });
  }

  async waiting(): Promise<number> {
    return (await this.shipper.listWaiting()).length;
  }

  get coveredUntil(): Date | null {
    return this.reach.until;
  }

  async mark(database: Database): Promise<void> {
    await this.shipper.mark(await readMark((sql) => database.query(sql)));
  }

  async ship(database: Database, signal: AbortSignal): Promise<void> {
    await this.mark(database);
    if (monotonicMs() - this.closedAt >= SEGMENT_MS) await this.closeSegment();
    if (!this.hasHistory) await this.shipHistory();
    this.hasHistory = true;
    await this.shipper.ship((segment, coveredUntil) => this.reach.extend(segment, coveredUntil), signal);
  }

  /** Closes nothing if nothing was written since the last call. */
  private async closeSegment(): Promise<void> {
    const client = new Client({ connectionString: this.server.ownerUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('SELECT pg_switch_wal()');
    } finally {
      await client.end().catch(() => undefined);
    }
    this.closedAt = monotonicMs();
  }

  /**
   * Ships the history that a restore created before anything was archived, so that another restore can see that the
   * timeline is in use.
   */
  private async shipHistory(): Promise<void> {
    const folder = join(this.server.folder, 'cluster', 'pg_wal');
    for (const name of (await readdir(folder)).filter(isHistory))
      await this.archive.put(name, await readFile(join(folder, name)), { coveredUntil: null });
  }

  async backUp(signal: AbortSignal, logger: Logger, database: Database): Promise<Partial<BackupState>> {
    const { target, key } = this.opened;
    if (await this.isDue(database)) {
      const output = await runInProcess(['backup'], signal);
      logger.info('a backup was taken', { says: output.trim() });
      await pruneBackups({ target, key, keepMs: this.settings.backupKeepMs, now: new Date() });
    }
    return this.readState(database);
  }

  async verify(signal: AbortSignal, database: Database): Promise<Partial<BackupState>> {
    const state = await this.readState(database);
    const isFresh =
      state.verifiedAt instanceof Date &&
      Date.now() - state.verifiedAt.getTime() < this.settings.backupVerifyEveryMs;
    if (isFresh || !(state.newestAt instanceof Date)) return state;
    await runInProcess(['backup:verify'], signal);
    return this.readState(database);
  }

  /** Returns whether a backup is due: by age, or because the log does not continue from the newest one. */
  private async isDue(database: Database): Promise<boolean> {
    const { backups } = await readInventory(this.opened.target, this.opened.key);
    const newest = backups.at(-1)?.manifest;
    if (newest === undefined) return true;
    if (Date.now() - Date.parse(newest.endedAt) >= this.settings.backupEveryMs - HOUR_MS / 12) return true;
    return !(await this.isOfThisDatabase(newest, database)) || (await this.coverage(newest))?.gap !== null;
  }

  private async isOfThisDatabase({ cluster }: Manifest, database: Database): Promise<boolean> {
    const [row] = await database.query<{ identifier: string; timeline: number }>(
      `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS identifier,
              (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline`,
    );
    return cluster?.systemIdentifier === row?.identifier && cluster?.timeline === row?.timeline;
  }

  private coverage(manifest: Manifest): ReturnType<typeof coverageOf> {
    return coverageOf(this.archive, manifest, 'newest');
  }

  /**
   * Reads the state of this database's backups in the target. A backup from before a restore belongs to another
   * timeline.
   */
  async readState(database: Database): Promise<Partial<BackupState>> {
    const { backups } = await readInventory(this.opened.target, this.opened.key);
    const last = backups.at(-1)?.manifest;
    const newest = last !== undefined && (await this.isOfThisDatabase(last, database)) ? last : undefined;
    const coverage = newest === undefined ? null : await this.coverage(newest);
    if (newest?.cluster && coverage !== null) this.reach.start(newest.cluster, coverage);
    else this.reach.end();
    const verified = backups.findLast(({ verified: mark }) => mark !== null)?.manifest;
    return {
      newestAt: newest === undefined ? null : new Date(newest.endedAt),
      verifiedAt: verified === undefined ? null : new Date(verified.endedAt),
      isForeign: last !== undefined && newest === undefined,
    };
  }
}
