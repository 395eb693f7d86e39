import type { Attribution } from './request-record';
import { readWritten, type WrittenRecord } from './written-record';

/** What records of one caller in one hour cost together: windows of limits begin and end on the hour. */
export interface CallerSum {
  readonly who: Attribution;
  readonly hour: number;
  amount: bigint;
}

export const millisecondsPerHour = 3_600_000;

/** How PostgreSQL takes jsonb in binary: a version, then the text. */
const jsonbVersion = 1;
const [opening, comma, closing] = Buffer.from('[,]');
/** For 500 ordinary records; what is not filled takes no memory. */
const roomAtFirst = 160 * 1_024;
/** What a batch of ordinary records takes, a few times over: more is not kept for the next. */
const mostKept = 1 << 20;
/** A text of `n` UTF-16 units takes so many bytes at most. */
const mostBytesPerUnit = 3;

/**
 * Records that reach the database together, as the text it reads, in memory outside the heap. Every request leaves one
 * that waits for some 50 ms; as objects all of them would be copied twice, and then marked, by the collector.
 */
export class RecordSheaf implements Iterable<WrittenRecord> {
  private bytes = Buffer.allocUnsafeSlow(roomAtFirst);
  private end = 0;
  private readonly ends: number[] = [];
  private count = 0;
  private readonly sums = new Map<number | null, CallerSum[]>();
  /** The next record is mostly of the same caller. */
  private lastSum: CallerSum | null = null;

  constructor(records: readonly WrittenRecord[] = []) {
    this.clear();
    this.add(records);
  }

  get length(): number {
    return this.count;
  }

  /** Answers their texts as they were put in: one behind the other, with commas between. */
  add(records: readonly WrittenRecord[]): string {
    if (records.length === 0) return '';
    let text = '';
    for (const record of records) {
      text += text === '' ? record.text : `,${record.text}`;
      this.charge(record);
    }
    const most = this.end + text.length * mostBytesPerUnit + 2;
    if (most > this.bytes.length) this.grow(most);
    if (this.count > 0) this.bytes[this.end++] = comma!;
    const written = this.bytes.write(text, this.end, 'utf8');
    const isPlain = written === text.length;
    for (const record of records) {
      this.end += isPlain ? record.text.length : Buffer.byteLength(record.text);
      this.ends[this.count++] = this.end++;
    }
    this.end -= 1;
    return text;
  }

  /** All of them as one parameter of type jsonb. */
  get cells(): Buffer {
    this.bytes[this.end] = closing!;
    return this.bytes.subarray(0, this.end + 1);
  }

  at(place: number): WrittenRecord {
    const start = place === 0 ? 2 : this.ends[place - 1]! + 1;
    return readWritten(this.bytes.toString('utf8', start, this.ends[place]));
  }

  *[Symbol.iterator](): Iterator<WrittenRecord> {
    for (let place = 0; place < this.count; place += 1) yield this.at(place);
  }

  /** What they cost, of which those at the given places are no part. */
  charges(without: ReadonlySet<number>): CallerSum[] {
    const all = [...this.sums.values()].flat();
    if (without.size === 0) return all;
    const rest = all.map((sum) => ({ ...sum }));
    for (const place of without) {
      const record = this.at(place);
      if (record.costNano !== 0n) rest.find((sum) => isOf(sum, record))!.amount -= record.costNano;
    }
    return rest.filter(({ amount }) => amount !== 0n);
  }

  clear(): void {
    if (this.bytes.length > mostKept) this.bytes = Buffer.allocUnsafeSlow(roomAtFirst);
    this.bytes[0] = jsonbVersion;
    this.bytes[1] = opening!;
    this.end = 2;
    this.count = 0;
    this.sums.clear();
    this.lastSum = null;
  }

  private charge(record: WrittenRecord): void {
    if (record.costNano === 0n) return;
    const { lastSum } = this;
    const sum = lastSum !== null && isOf(lastSum, record) ? lastSum : this.sumOf(record);
    sum.amount += record.costNano;
    this.lastSum = sum;
  }

  /** Most records of a batch are of few callers. */
  private sumOf(record: WrittenRecord): CallerSum {
    let ofKey = this.sums.get(record.keyId);
    if (ofKey === undefined) this.sums.set(record.keyId, (ofKey = []));
    let sum = ofKey.find((one) => isOf(one, record));
    if (sum === undefined) ofKey.push((sum = { who: record, hour: hourOf(record), amount: 0n }));
    return sum;
  }

  private grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(least, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }
}

const hourOf = ({ createdMs }: WrittenRecord): number => Math.floor(createdMs / millisecondsPerHour);

const isOf = ({ who, hour }: CallerSum, record: WrittenRecord): boolean =>
  who.keyId === record.keyId &&
  who.walletId === record.walletId &&
  who.userId === record.userId &&
  who.projectId === record.projectId &&
  who.departmentId === record.departmentId &&
  who.organisationId === record.organisationId &&
  hour === hourOf(record);
