import { parseJsonText } from '../../kernel';
import { BackupError, DamagedObject, UnreadableObject } from '../backup-error';
import type { ClusterFacts } from '../manifest';
import type { BackupKey } from '../seal/backup-key';
import { decrypt, seal, unseal } from '../seal/sealed-object';
import type { BackupTarget } from '../target/backup-target';
import { isHistory, isSegment, readLsn, segmentAfter, segmentAt } from './segments';

/** Stands before the bytes of a segment. */
interface SegmentFacts {
  /** All that was committed before this moment is in the archive up to this segment; null where none is known. */
  readonly coveredUntil: string | null;
  /** The position of the log at that moment; absent from segments of earlier versions. */
  readonly coveredLsn?: string;
}

export const WAL = 'wal/';
const HEAD_BYTES = 4;

export interface ArchivedSegment extends SegmentFacts {
  readonly content: Buffer;
}

/** The first segment that a restore cannot pass: it is unreadable, or missing although later ones are there. */
interface LogGap {
  readonly segment: string;
  /** Completes a sentence that begins with the segment. */
  readonly problem: string;
}

/** The segments that a restore of a backup can replay. */
export interface Coverage {
  readonly segments: readonly string[];
  /** Any moment from the backup's end to this can be restored; without a log only this one. */
  readonly until: Date;
  /** Null if the log is complete to its newest segment. */
  readonly gap: LogGap | null;
}

/** How much of the log is read: all segments, or only the newest ones, which say how far the log reaches. */
export type ReadingDepth = 'all' | 'newest';

/** Objects that are read at a time, as each takes a round trip to a store. */
const READS_AT_ONCE = 8;

/** The write-ahead log in the target, one object a segment. */
export class WalArchive {
  /** Several backups share most of the log. */
  private readonly intact = new Set<string>();

  constructor(
    private readonly target: BackupTarget,
    private readonly key: BackupKey,
  ) {}

  /** Refuses to put another history's segment in the place of one that is there; replaces a damaged one. */
  async put(name: string, content: Buffer, facts: SegmentFacts): Promise<void> {
    const object = objectOf(name);
    const known = await this.get(name).catch((error: unknown) => {
      if (error instanceof DamagedObject) return null;
      throw error;
    });
    if (known !== null) {
      if (known.content.equals(content)) return;
      throw new BackupError(
        `${this.target.place} has another ${object}: a second installation archives there. ` +
          'Give each a BACKUP_TARGET of its own.',
      );
    }
    const head = Buffer.from(JSON.stringify(facts));
    const length = Buffer.alloc(HEAD_BYTES);
    length.writeUInt32LE(head.length);
    await this.target.put(object, await seal(this.key, object, Buffer.concat([length, head, content])));
  }

  async get(name: string): Promise<ArchivedSegment | null> {
    const sealed = await this.target.get(objectOf(name));
    return sealed === null ? null : openSegment(await unseal(this.key, objectOf(name), sealed));
  }

  /** True if another restore already began this timeline, also when its history file is lost. */
  async hasTimeline(historyName: string): Promise<boolean> {
    const there = await this.target.list(`${WAL}${historyName.slice(0, 8)}`);
    return there.length > 0;
  }

  /** The names of all segments of a timeline. */
  async segments(timeline: number): Promise<string[]> {
    const prefix = folderOfTimeline(timeline);
    const found = await this.target.list(prefix);
    return found.map(({ name }) => name.slice(prefix.length)).filter(isSegment);
  }

  /** Log that the archive adds to a backup. A backup also contains the segments written during it. */
  async coverage(
    { timeline, startLsn, endLsn, segmentBytes }: ClusterFacts,
    completeUntil: Date,
    depth: ReadingDepth = 'newest',
  ): Promise<Coverage> {
    const known = await this.segments(timeline);
    const first = segmentAt(timeline, readLsn(startLsn), segmentBytes);
    const firstNeeded = segmentAfter(segmentAt(timeline, readLsn(endLsn) - 1n, segmentBytes), segmentBytes);
    const spare = known.filter((name) => name >= first && name < firstNeeded);
    const { needed, missing } = consecutive(known, firstNeeded, segmentBytes);
    const unreadable = depth === 'all' ? await this.firstUnreadable(needed) : null;
    const end = unreadable === null ? needed.length : needed.indexOf(unreadable.segment);
    const newest = await this.newestMoment(needed.slice(0, end));
    const segments = [...spare, ...needed.slice(0, newest.end)];
    const vouched = newest.moment ?? (await this.newestMoment(spare)).moment;
    return {
      segments,
      until: vouched === null ? completeUntil : later(vouched, completeUntil, readLsn(endLsn)),
      gap: newest.gap ?? unreadable ?? missing,
    };
  }

  private async firstUnreadable(names: readonly string[]): Promise<LogGap | null> {
    for (let at = 0; at < names.length; at += READS_AT_ONCE) {
      const problems = await Promise.all(
        names.slice(at, at + READS_AT_ONCE).map(async (segment) => {
          const problem = await this.problemOf(segment);
          return problem === null ? [] : [{ segment, problem }];
        }),
      );
      const [gap] = problems.flat();
      if (gap !== undefined) return gap;
    }
    return null;
  }

  private async problemOf(name: string): Promise<string | null> {
    if (this.intact.has(name)) return null;
    const sealed = await this.target.get(objectOf(name));
    if (sealed === null) return 'is missing';
    try {
      await decrypt(this.key, objectOf(name), sealed);
      this.intact.add(name);
      return null;
    } catch (error) {
      if (error instanceof UnreadableObject) return error.problem;
      throw error;
    }
  }

  /** The newest moment that one of the segments vouches for, and where the log ends if one on the way is unreadable. */
  private async newestMoment(
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

/** The moment that lies behind in the log: a clock that was set back makes it the earlier one. */
const later = ({ at, lsn }: LogMoment, completeUntil: Date, endLsn: bigint): Date =>
  (lsn !== null && lsn > endLsn) || at > completeUntil ? at : completeUntil;

/** The segments from the first one on without one missing. */
function consecutive(
  known: readonly string[],
  first: string,
  segmentBytes: number,
): { readonly needed: readonly string[]; readonly missing: LogGap | null } {
  const names = new Set(known);
  const needed: string[] = [];
  let next = first;
  for (; names.has(next); next = segmentAfter(next, segmentBytes)) needed.push(next);
  const hasLater = known.some((name) => name > next);
  return {
    needed,
    missing: hasLater ? { segment: next, problem: 'is missing, and later ones are there' } : null,
  };
}

/** Timelines lie in folders of their own. */
const folderOfTimeline = (timeline: number): string =>
  `${WAL}${timeline.toString(16).toUpperCase().padStart(8, '0')}/`;

function objectOf(name: string): string {
  if (isHistory(name)) return `${WAL}${name}`;
  return `${WAL}${name.slice(0, 8)}/${name}`;
}

function openSegment(bytes: Buffer): ArchivedSegment {
  const length = bytes.readUInt32LE(0);
  const facts = parseJsonText(
    bytes.subarray(HEAD_BYTES, HEAD_BYTES + length).toString('utf8'),
  ) as SegmentFacts;
  return { ...facts, content: bytes.subarray(HEAD_BYTES + length) };
}
