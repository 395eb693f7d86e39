import { parseJsonText } from '../../kernel';
import { BackupError } from '../backup-error';
import type { ClusterFacts } from '../manifest';
import type { BackupKey } from '../seal/backup-key';
import { seal, unseal } from '../seal/sealed-object';
import type { BackupTarget } from '../target/backup-target';
import { isHistory, isSegment, readLsn, segmentAfter, segmentAt } from './segments';

/** Stands before the bytes of a segment. */
interface SegmentFacts {
  /** All that was committed before this moment is in the archive up to this segment; null where none is known. */
  readonly coveredUntil: string | null;
}

export const WAL = 'wal/';
const HEAD_BYTES = 4;

export interface ArchivedSegment extends SegmentFacts {
  readonly content: Buffer;
}

/** The segments of a backup's timeline that follow it without a hole. */
export interface Coverage {
  readonly segments: readonly string[];
  /** Any moment from the backup's end to this can be restored. */
  readonly until: Date;
  /** The first segment that is missing although later ones are there. */
  readonly hole: string | null;
}

/** The write-ahead log in the target, one object a segment. */
export class WalArchive {
  constructor(
    private readonly target: BackupTarget,
    private readonly key: BackupKey,
  ) {}

  /** Refuses to put another history's segment in the place of one that is there. */
  async put(name: string, content: Buffer, facts: SegmentFacts): Promise<void> {
    const object = objectOf(name);
    const known = await this.target.get(object);
    if (known !== null) {
      const { content: there } = openSegment(await unseal(this.key, object, known));
      if (there.equals(content)) return;
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

  async has(name: string): Promise<boolean> {
    return (await this.target.list(objectOf(name))).length > 0;
  }

  /** The names of all segments of a timeline. */
  async segments(timeline: number): Promise<string[]> {
    const prefix = folderOfTimeline(timeline);
    const found = await this.target.list(prefix);
    return found.map(({ name }) => name.slice(prefix.length)).filter(isSegment);
  }

  /** What the archive adds to a backup. */
  async coverage({ timeline, startLsn, segmentBytes }: ClusterFacts, endedAt: Date): Promise<Coverage> {
    const known = new Set(await this.segments(timeline));
    const segments: string[] = [];
    let next = segmentAt(timeline, readLsn(startLsn), segmentBytes);
    for (; known.has(next); next = segmentAfter(next, segmentBytes)) segments.push(next);
    const until = await this.coveredUntil(segments);
    const hasLater = [...known].some((name) => name > next);
    return {
      segments,
      until: until !== null && until > endedAt ? until : endedAt,
      hole: hasLater ? next : null,
    };
  }

  /** The newest moment that one of the last segments vouches for. */
  private async coveredUntil(segments: readonly string[]): Promise<Date | null> {
    for (const name of segments.toReversed()) {
      const found = await this.get(name);
      if (found?.coveredUntil) return new Date(found.coveredUntil);
    }
    return null;
  }
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
