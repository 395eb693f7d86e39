import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS, parseJsonText } from '../../kernel';
import { errorCode } from '../../platform';
import { endOfSegment, isHistory, isSegment, readLsn, writeLsn } from './segments';
import type { WalArchive } from './wal-archive';

/** Everything committed before this moment is before this position of the log. */
export interface LogMark {
  readonly at: Date;
  readonly lsn: bigint;
}

export interface WalShipperOptions {
  readonly folder: string;
  readonly archive: WalArchive;
  readonly segmentBytes: number;
}

/** Marks of more than an hour, one every few seconds. */
const MAX_MARKS = 1_000;
/** The server's archiver leaves such a file when it is killed. */
const DRAFT = /^archtemp\./;

/** Moves finished segments of the write-ahead log from the server's folder into the target. */
export class WalShipper {
  private marks: LogMark[] | undefined;

  constructor(private readonly options: WalShipperOptions) {}

  /** Saves a mark, so that the next process can ship the segment that is open when this one ends. */
  async mark(mark: LogMark): Promise<void> {
    const marks = [...(await this.loadMarks()), mark];
    this.marks = marks.length > MAX_MARKS ? marks.filter((_, index) => index % 2 === 1) : marks;
    await this.saveMarks();
  }

  async ship(
    onShipped: (segment: string, coveredUntil: Date | null) => void = () => undefined,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const name of await this.listWaiting()) {
      signal?.throwIfAborted();
      await this.shipOne(name, onShipped);
    }
  }

  async listWaiting(): Promise<string[]> {
    const names = await readdir(this.options.folder).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    });
    await Promise.all(names.filter((name) => DRAFT.test(name)).map((name) => this.removeIfOld(name)));
    return names.filter((name) => isSegment(name) || isHistory(name)).sort();
  }

  private async shipOne(
    name: string,
    onShipped: (segment: string, coveredUntil: Date | null) => void,
  ): Promise<void> {
    const path = join(this.options.folder, name);
    let content: Buffer;
    try {
      content = await readFile(path);
    } catch (error) {
      // A command running next to the service might have been faster.
      if (errorCode(error) === 'ENOENT') return;
      throw error;
    }
    const mark = isSegment(name)
      ? await this.lastMarkBefore(endOfSegment(name, this.options.segmentBytes))
      : null;
    await this.options.archive.put(name, content, {
      coveredUntil: mark?.at.toISOString() ?? null,
      ...(mark === null ? {} : { coveredLsn: writeLsn(mark.lsn) }),
    });
    await rm(path, { force: true });
    onShipped(name, mark?.at ?? null);
  }

  /** Uses the order in which marks were made, because a clock can be set back. */
  private async lastMarkBefore(end: bigint): Promise<LogMark | null> {
    const marks = await this.loadMarks();
    const newest = marks.findLastIndex(({ lsn }) => lsn <= end);
    if (newest < 0) return null;
    this.marks = marks.slice(newest);
    return this.marks[0]!;
  }

  private get marksFile(): string {
    return `${this.options.folder}-marks.json`;
  }

  private async loadMarks(): Promise<readonly LogMark[]> {
    this.marks ??= readMarks(await readFile(this.marksFile, 'utf8').catch(() => '[]'));
    return this.marks;
  }

  /** Ignores failures: they only limit how far the log of this process reaches after its end. */
  private async saveMarks(): Promise<void> {
    const lines = this.marks?.map(({ at, lsn }) => [at.toISOString(), writeLsn(lsn)]);
    const draft = `${this.marksFile}.${process.pid}`;
    await writeFile(draft, JSON.stringify(lines), { mode: 0o600 })
      .then(() => rename(draft, this.marksFile))
      .catch(() => rm(draft, { force: true }).catch(() => undefined));
  }

  private async removeIfOld(name: string): Promise<void> {
    const path = join(this.options.folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats !== null && Date.now() - stats.mtimeMs > HOUR_MS) await rm(path, { force: true });
  }
}

function readMarks(text: string): LogMark[] {
  try {
    const lines = parseJsonText(text) as readonly (readonly [string, string])[];
    return lines.map(([at, lsn]) => ({ at: new Date(at), lsn: readLsn(lsn) }));
  } catch {
    return [];
  }
}

export async function readMark(
  query: (sql: string) => Promise<{ at: Date; lsn: string }[]>,
): Promise<LogMark> {
  const [row] = await query('SELECT clock_timestamp() AS at, pg_current_wal_insert_lsn()::text AS lsn');
  if (row === undefined) throw new Error('the database does not say how far its log is');
  return { at: row.at, lsn: readLsn(row.lsn) };
}
