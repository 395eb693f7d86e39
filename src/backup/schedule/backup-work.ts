import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { HOUR_MS, MINUTE_MS, monotonicMs } from '../../kernel';
import { archiveFolderOf, type Database, type Logger, type Settings } from '../../platform';
import { coverageOf, inventory } from '../backups';
import type { Manifest } from '../manifest';
import { pruneBackups } from '../prune';
import type { OpenedTarget } from '../target/open-target';
import { isHistory } from '../wal/segments';
import { WalArchive } from '../wal/wal-archive';
import { markOf, WalShipper } from '../wal/wal-shipper';
import type { BackupState } from './backup-state';
import { LogReach } from './log-reach';
import { runAside } from './run-aside';

/** A segment is closed after this time at the latest, so that no more than that is missing in the archive. */
const SEGMENT_MS = MINUTE_MS;

/** What there is to do, without the question of when. */
export class BackupWork {
  private readonly archive: WalArchive;
  private readonly shipper: WalShipper;
  private readonly reach: LogReach;
  private hasHistory = false;
  /** An earlier process can have left a segment open for as long. */
  private closedAt = -Infinity;

  constructor(
    private readonly opened: OpenedTarget,
    /** The embedded server of this node keeps its files here. */
    private readonly server: { readonly folder: string; readonly ownerUrl: string },
    segmentBytes: number,
    private readonly settings: Settings,
  ) {
    this.archive = new WalArchive(opened.target, opened.key);
    const folder = archiveFolderOf(server.folder);
    this.reach = new LogReach(segmentBytes);
    this.shipper = new WalShipper({ folder, archive: this.archive, segmentBytes });
  }

  async waiting(): Promise<number> {
    return (await this.shipper.waiting()).length;
  }

  /** The newest moment that can be restored from a backup of this database with the log behind it. */
  get coveredUntil(): Date | null {
    return this.reach.until;
  }

  async mark(database: Database): Promise<void> {
    await this.shipper.mark(await markOf((sql) => database.query(sql)));
  }

  async ship(database: Database, signal: AbortSignal): Promise<void> {
    await this.mark(database);
    if (monotonicMs() - this.closedAt >= SEGMENT_MS) await this.closeSegment();
    if (!this.hasHistory) await this.shipHistory();
    this.hasHistory = true;
    await this.shipper.ship((segment, coveredUntil) => this.reach.extend(segment, coveredUntil), signal);
  }

  /** Closes nothing if nothing was written since the last time. */
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

  /** A restore made it while nothing was archived. Another restore finds by it that this timeline is taken. */
  private async shipHistory(): Promise<void> {
    const folder = join(this.server.folder, 'cluster', 'pg_wal');
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
    return this.look(database);
  }

  async verify(signal: AbortSignal, database: Database): Promise<Partial<BackupState>> {
    const before = await this.look(database);
    const isFresh =
      before.verifiedAt instanceof Date &&
      Date.now() - before.verifiedAt.getTime() < this.settings.backupVerifyEveryMs;
    if (isFresh || !(before.newestAt instanceof Date)) return before;
    await runAside(['backup:verify'], signal);
    return this.look(database);
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

  /** Backups of this database in the target. A backup from before a restore belongs to another timeline. */
  async look(database: Database): Promise<Partial<BackupState>> {
    const { backups } = await inventory(this.opened.target, this.opened.key);
    const last = backups.at(-1)?.manifest;
    const newest = last !== undefined && (await this.isOwn(last, database)) ? last : undefined;
    const coverage = newest === undefined ? null : await this.coverage(newest);
    if (newest?.cluster && coverage !== null) this.reach.begin(newest.cluster, coverage);
    else this.reach.end();
    const verified = backups.findLast(({ verified: mark }) => mark !== null)?.manifest;
    return {
      newestAt: newest === undefined ? null : new Date(newest.endedAt),
      verifiedAt: verified === undefined ? null : new Date(verified.endedAt),
      isForeign: last !== undefined && newest === undefined,
    };
  }
}
