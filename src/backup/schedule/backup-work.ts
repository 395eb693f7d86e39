import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS } from '../../kernel';
import { archiveFolderOf, type Database, type Logger, type Settings } from '../../platform';
import { coverageOf, inventory } from '../backups';
import type { Manifest } from '../manifest';
import { pruneBackups } from '../prune';
import type { OpenedTarget } from '../target/open-target';
import { isHistory } from '../wal/segments';
import { WalArchive } from '../wal/wal-archive';
import { markOf, WalShipper } from '../wal/wal-shipper';
import type { BackupState } from './backup-state';
import { runAside } from './run-aside';

/** What there is to do, without the question of when. */
export class BackupWork {
  private readonly archive: WalArchive;
  private readonly shipper: WalShipper;
  private hasHistory = false;

  constructor(
    private readonly opened: OpenedTarget,
    /** The embedded server of this node keeps its files here. */
    private readonly serverFolder: string,
    segmentBytes: number,
    private readonly settings: Settings,
  ) {
    this.archive = new WalArchive(opened.target, opened.key);
    const folder = archiveFolderOf(serverFolder);
    this.shipper = new WalShipper({ folder, archive: this.archive, segmentBytes });
  }

  async waiting(): Promise<number> {
    return (await this.shipper.waiting()).length;
  }

  async ship(database: Database, signal: AbortSignal): Promise<Date | null> {
    this.shipper.mark(await markOf((sql) => database.query(sql)));
    if (!this.hasHistory) await this.shipHistory();
    this.hasHistory = true;
    await this.shipper.ship(signal);
    return this.shipper.coveredUntil;
  }

  /** A restore made it while nothing was archived. Another restore finds by it that this timeline is taken. */
  private async shipHistory(): Promise<void> {
    const folder = join(this.serverFolder, 'cluster', 'pg_wal');
    for (const name of (await readdir(folder)).filter(isHistory))
      await this.archive.put(name, await readFile(join(folder, name)), { coveredUntil: null });
  }

  async backUp(signal: AbortSignal, logger: Logger, database: Database): Promise<Partial<BackupState>> {
    const { target, key } = this.opened;
    if (await this.isDue(database)) {
      const output = await runAside(['backup'], signal);
      logger.info('a backup was taken', { says: output.trim() });
      await pruneBackups({ target, key, keepMs: this.settings.backupKeepMs, now: new Date() });
    }
    return this.look();
  }

  async verify(signal: AbortSignal): Promise<Partial<BackupState>> {
    const before = await this.look();
    const isFresh =
      before.verifiedAt instanceof Date &&
      Date.now() - before.verifiedAt.getTime() < this.settings.backupVerifyEveryMs;
    if (isFresh || !(before.newestAt instanceof Date)) return before;
    await runAside(['backup:verify'], signal);
    return this.look();
  }

  /** A backup is due by its age, and where the log does not lead on from the newest one. */
  private async isDue(database: Database): Promise<boolean> {
    const { backups } = await inventory(this.opened.target, this.opened.key);
    const newest = backups.at(-1)?.manifest;
    if (newest === undefined) return true;
    if (Date.now() - Date.parse(newest.endedAt) >= this.settings.backupEveryMs - HOUR_MS / 12) return true;
    return !(await this.isOwn(newest, database)) || (await this.coverage(newest))?.gap !== null;
  }

  private async isOwn({ cluster }: Manifest, database: Database): Promise<boolean> {
    const [row] = await database.query<{ identifier: string; timeline: number }>(
      `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS identifier,
              (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline`,
    );
    return cluster?.systemIdentifier === row?.identifier && cluster?.timeline === row?.timeline;
  }

  private coverage(manifest: Manifest): ReturnType<typeof coverageOf> {
    return coverageOf(this.archive, manifest, 'newest');
  }

  /** What the target has. */
  async look(): Promise<Partial<BackupState>> {
    const { backups } = await inventory(this.opened.target, this.opened.key);
    const newest = backups.at(-1)?.manifest;
    const coverage = newest === undefined ? null : await this.coverage(newest);
    const verified = backups.findLast(({ verified: mark }) => mark !== null)?.manifest;
    return {
      newestAt: newest === undefined ? null : new Date(newest.endedAt),
      verifiedAt: verified === undefined ? null : new Date(verified.endedAt),
      ...(coverage !== null && { coveredUntil: coverage.until }),
    };
  }
}
