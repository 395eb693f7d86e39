import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS } from '../../kernel';
import { errorCode } from '../../platform';
import { endOfSegment, isHistory, isSegment, readLsn } from './segments';
import type { WalArchive } from './wal-archive';

/** Everything that was committed before this moment lies before this place of the log. */
export interface LogMark {
  readonly at: Date;
  readonly lsn: bigint;
}

export interface WalShipperOptions {
  /** The server puts finished segments here. */
  readonly folder: string;
  readonly archive: WalArchive;
  readonly segmentBytes: number;
}

/** Marks of half an hour, one every few seconds. */
const MOST_MARKS = 1_000;
/** The server's archiver leaves such a file where it was killed. */
const DRAFT = /^archtemp\./;

/** Moves finished segments of the write-ahead log from the server's folder into the target. */
export class WalShipper {
  private marks: LogMark[] = [];
  /** The newest moment up to which the archive is whole. */
  coveredUntil: Date | null = null;

  constructor(private readonly options: WalShipperOptions) {}

  mark(mark: LogMark): void {
    this.marks.push(mark);
    if (this.marks.length > MOST_MARKS) this.marks = this.marks.filter((_, place) => place % 2 === 1);
  }

  /** Ships what waits, the oldest first. Returns how many segments went. */
  async ship(signal?: AbortSignal): Promise<number> {
    let shipped = 0;
    for (const name of await this.waiting()) {
      signal?.throwIfAborted();
      if (await this.shipOne(name)) shipped += 1;
    }
    return shipped;
  }

  /** The names of what waits, the oldest first. */
  async waiting(): Promise<string[]> {
    const names = await readdir(this.options.folder).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    });
    await Promise.all(names.filter((name) => DRAFT.test(name)).map((name) => this.removeOld(name)));
    return names.filter((name) => isSegment(name) || isHistory(name)).sort();
  }

  private async shipOne(name: string): Promise<boolean> {
    const path = join(this.options.folder, name);
    let content: Buffer;
    try {
      content = await readFile(path);
    } catch (error) {
      // A command beside the service may have been faster.
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    }
    const coveredUntil = isSegment(name)
      ? this.vouchedBy(endOfSegment(name, this.options.segmentBytes))
      : null;
    await this.options.archive.put(name, content, { coveredUntil: coveredUntil?.toISOString() ?? null });
    await rm(path, { force: true });
    if (coveredUntil !== null) this.coveredUntil = coveredUntil;
    return true;
  }

  private vouchedBy(end: bigint): Date | null {
    const newest = this.marks.findLast(({ lsn }) => lsn <= end);
    if (newest === undefined) return null;
    this.marks = this.marks.filter(({ at }) => at >= newest.at);
    return newest.at;
  }

  private async removeOld(name: string): Promise<void> {
    const path = join(this.options.folder, name);
    const seen = await stat(path).catch(() => null);
    if (seen !== null && Date.now() - seen.mtimeMs > HOUR_MS) await rm(path, { force: true });
  }
}

/** The server says so of itself now. */
export async function markOf(query: (sql: string) => Promise<{ at: Date; lsn: string }[]>): Promise<LogMark> {
  const [row] = await query('SELECT clock_timestamp() AS at, pg_current_wal_insert_lsn()::text AS lsn');
  if (row === undefined) throw new Error('the database does not say how far its log is');
  return { at: row.at, lsn: readLsn(row.lsn) };
}
