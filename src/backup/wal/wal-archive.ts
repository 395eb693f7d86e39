import { parseJsonText } from '../../kernel';
import { BackupError, DamagedObject, UnreadableObject } from '../backup-error';
import type { ClusterDescription } from '../manifest';
import type { BackupKey } from '../seal/backup-key';
import { decrypt, seal, unseal } from '../seal/sealed-object';
import type { BackupTarget } from '../target/backup-target';
import { isHistory, isSegment, readLsn, segmentAfter, segmentAt } from './segments';

interface SegmentHeader {
  /** Everything committed before this moment is in the archive up to this segment; null if none is known. */
  readonly coveredUntil: string | null;
  /** Log position at that moment; absent from segments of earlier versions. */
  readonly coveredLsn?: string;
}

export const WAL = 'wal/';
const LENGTH_BYTES = 4;

export interface ArchivedSegment extends SegmentHeader {
  readonly content: Buffer;
}

/** The first segment that a restore cannot pass: unreadable, or missing although later ones exist. */
interface LogGap {
  readonly segment: string;
  /** Completes a sentence that starts with the segment. */
  readonly problem: string;
}

export interface Coverage {
  readonly segments: readonly string[];
  /** Every moment from the backup's end to this one can be restored; without a log, only this one. */
  readonly until: Date;
  /** Null if the log is complete to its newest segment. */
  readonly gap: LogGap | null;
}

/** Whether all segments are read, or only the newest ones, which determine how far the log reaches. */
export type ReadingDepth = 'all' | 'newest';

/** Number of concurrent reads, because each takes a round trip to the store. */
const CONCURRENT_READS = 8;

export class WalArchive {
  /** Segments found intact, because several backups share most of the log. */
  private readonly intactSegments = new Set<string>();

  constructor(
    private readonly target: BackupTarget,
    private readonly key: BackupKey,
  ) {}

  /** Rejects a segment of another history under an existing name; replaces a damaged one. */
  async put(name: string, content: Buffer, header: SegmentHeader): Promise<void> {
    const object = objectOf(name);
    const existing = await this.get(name).catch((error: unknown) => {
      if (error instanceof DamagedObject) return null;
      throw error;
    });
    if (existing !== null) {
      if (existing.content.equals(content)) return;
      throw new BackupError(
        `${this.target.location} has another ${object}: a second installation archives there. ` +
          'Give each a BACKUP_TARGET of its own.',
      );
    }
    const head = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(head.length);
    await this.target.put(object, await seal(this.key, object, Buffer.concat([length, head, content])));
  }

  async get(name: string): Promise<ArchivedSegment | null> {
    const sealed = await this.target.get(objectOf(name));
    return sealed === null ? null : openSegment(await unseal(this.key, objectOf(name), sealed));
  }

  /** Returns whether another restore already started this timeline, even if its history file is lost. */
  async hasTimeline(historyName: string): Promise<boolean> {
    const objects = await this.target.list(`${WAL}${historyName.slice(0, 8)}`);
    return objects.length > 0;
  }

  async segments(timeline: number): Promise<string[]> {
    const prefix = folderOfTimeline(timeline);
    const objects = await this.target.list(prefix);
    return objects.map(({ name }) => name.slice(prefix.length)).filter(isSegment);
  }

  /** Returns the log that the archive adds to a backup. A backup also contains the segments written during it. */
  async coverage(
    { timeline, startLsn, endLsn, segmentBytes }: ClusterDescription,
    completeUntil: Date,
    depth: ReadingDepth = 'newest',
  ): Promise<Coverage> {
    const names = await this.segments(timeline);
    const first = segmentAt(timeline, readLsn(startLsn), segmentBytes);
    const firstNeeded = segmentAfter(segmentAt(timeline, readLsn(endLsn) - 1n, segmentBytes), segmentBytes);
    const included = names.filter((name) => name >= first && name < firstNeeded);
    const { needed, missing } = consecutive(names, firstNeeded, segmentBytes);
    const unreadable = depth === 'all' ? await this.findFirstUnreadable(needed) : null;
    const end = unreadable === null ? needed.length : needed.indexOf(unreadable.segment);
    const newest = await this.findNewestMoment(needed.slice(0, end));
    const segments = [...included, ...needed.slice(0, newest.end)];
    const moment = newest.moment ?? (await this.findNewestMoment(included)).moment;
    return {
      segments,
      until: moment === null ? completeUntil : laterMoment(moment, completeUntil, readLsn(endLsn)),
      gap: newest.gap ?? unreadable ?? missing,
    };
  }

  private async findFirstUnreadable(names: readonly string[]): Promise<LogGap | null> {
    for (let at = 0; at < names.length; at += CONCURRENT_READS) {
      const problems = await Promise.all(
        names.slice(at, at + CONCURRENT_READS).map(async (segment) => {
          const problem = await this.findProblem(segment);
          return problem === null ? [] : [{ segment, problem }];
        }),
      );
      const [gap] = problems.flat();
      if (gap !== undefined) return gap;
    }
    return null;
  }

  private async findProblem(name: string): Promise<string | null> {
    if (this.intactSegments.has(name)) return null;
    const sealed = await this.target.get(objectOf(name));
    if (sealed === null) return 'is missing';
    try {
      await decrypt(this.key, objectOf(name), sealed);
      this.intactSegments.add(name);
      return null;
    } catch (error) {
      if (error instanceof UnreadableObject) return error.problem;
      throw error;
    }
  }

  /** Returns the newest moment recorded in the segments, and where the log ends if one before it is unreadable. */
  private async findNewestMoment(
    names: readonly string[],
  ): Promise<{ readonly moment: LogMoment | null; readonly end: number; readonly gap: LogGap | null }> {
    let [end, gap] = [names.length, null as LogGap | null];
    for (let at = names.length - 1; at >= 0; at -= 1) {
      const segment = names[at]!;
      try {
        const { coveredUntil = null, coveredLsn } = (await this.get(segment)) ?? {};
        if (coveredUntil !== null) {
          const lsn = coveredLsn === undefined ? null : readLsn(coveredLsn);
          return { moment: { at: new Date(coveredUntil), lsn }, end, gap };
        }
      } catch (error) {
        if (!(error instanceof UnreadableObject)) throw error;
        [end, gap] = [at, { segment, problem: error.problem }];
      }
    }
    return { moment: null, end, gap };
  }
}

interface LogMoment {
  readonly at: Date;
  readonly lsn: bigint | null;
}

/** Returns the moment that is later in the log: after the clock was set back, it can be the earlier time. */
const laterMoment = ({ at, lsn }: LogMoment, completeUntil: Date, endLsn: bigint): Date =>
  (lsn !== null && lsn > endLsn) || at > completeUntil ? at : completeUntil;

/** Returns the consecutive segments from the first one, and the gap if later ones exist. */
function consecutive(
  allNames: readonly string[],
  first: string,
  segmentBytes: number,
): { readonly needed: readonly string[]; readonly missing: LogGap | null } {
  const names = new Set(allNames);
  const needed: string[] = [];
  let next = first;
  for (; names.has(next); next = segmentAfter(next, segmentBytes)) needed.push(next);
  const hasLater = allNames.some((name) => name > next);
  return {
    needed,
    missing: hasLater ? { segment: next, problem: 'is missing, and later ones are there' } : null,
  };
}

const folderOfTimeline = (timeline: number): string =>
  `${WAL}${timeline.toString(16).toUpperCase().padStart(8, '0')}/`;

function objectOf(name: string): string {
  if (isHistory(name)) return `${WAL}${name}`;
  return `${WAL}${name.slice(0, 8)}/${name}`;
}

function openSegment(bytes: Buffer): ArchivedSegment {
  const length = bytes.readUInt32LE(0);
  const header = parseJsonText(
    bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length).toString('utf8'),
  ) as SegmentHeader;
  return { ...header, content: bytes.subarray(LENGTH_BYTES + length) };
}
