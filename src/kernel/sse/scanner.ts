import { type Fault, fault } from '../errors/fault';
import { SseEvent } from './event';

export interface SseScannerOptions {
  /** Every event that carries data, in order, before `push` returns. */
  onEvent?: (event: SseEvent) => void;
  /** It gets only the data of each event, as a view. Decode it or leave it. */
  onData?: (data: Buffer, complete: boolean) => void;
  /** The same as text, decoded where it stands, without a view. `complete` is false for what the stream broke off in. */
  onText?: (text: string, complete: boolean) => void;
  /**
   * Blocks without data (comments, stray blank lines) are reported as well, so that the `raw` views tile the stream.
   */
  everyBlock?: boolean;
  /** A block larger than this ends the scan with a fault. */
  maxEventBytes?: number;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;
const firstOfData = 0x64;

const defaultMaxEventBytes = 16 * 1024 * 1024;
const smallestCarry = 1024;
const nothing = Buffer.alloc(0);

/**
 * Finds the events in a byte stream that arrives in arbitrary pieces. Line ends are found by native scans,
 * and each byte is looked at once. An event that lies within one chunk is handed out as a view of that chunk.
 * Only an event that straddles chunks is copied, into a buffer of its own. A carriage return that ends a
 * chunk ends its line at once. Should a line feed follow in the next chunk, it opens the next block's `raw`,
 * and nothing else differs.
 */
export class SseScanner {
  private readonly onEvent: SseScannerOptions['onEvent'];
  private readonly onData: SseScannerOptions['onData'];
  private readonly onText: SseScannerOptions['onText'];
  private readonly everyBlock: boolean;
  private readonly maxEventBytes: number;

  /** The beginning of an unfinished block, from earlier chunks. */
  private carry = nothing;
  private carried = 0;
  /** The unfinished line begins here, counted from the beginning of its block. */
  private lineStart = 0;
  /**
   * Each finished line of the block has its begin and its end here, in turn. The array is reused from block to block.
   */
  private readonly lines: number[] = [];
  private lineMarks = 0;
  private blockOffset = 0;
  private lastOffset = 0;
  private afterReturn = false;
  private failure: Fault | undefined;

  constructor({
    onEvent,
    onData,
    onText,
    everyBlock = false,
    maxEventBytes = defaultMaxEventBytes,
  }: SseScannerOptions) {
    this.onEvent = onEvent;
    this.onData = onData;
    this.onText = onText;
    this.everyBlock = everyBlock;
    this.maxEventBytes = maxEventBytes;
  }

  /** The block whose data is being reported, and the value of its last line of data. */
  private block: Buffer = nothing;
  private base = 0;
  private reportedMarks = 0;
  private dataLines = 0;
  private dataFrom = 0;
  private dataEnd = 0;

  /** The block that was reported last begins here in the stream. */
  get blockStart(): number {
    return this.lastOffset;
  }

  /** The stream consists of finished blocks up to here. */
  get blockEnd(): number {
    return this.blockOffset;
  }

  /** The data that is being reported stands here in the stream; -1 when it was joined from several lines. */
  get dataStart(): number {
    return this.dataLines === 1 ? this.lastOffset + this.dataFrom - this.base : -1;
  }

  /** The bytes of the data that is being reported; -1 when it was joined from several lines. */
  get dataLength(): number {
    return this.dataLines === 1 ? this.dataEnd - this.dataFrom : -1;
  }

  /** The data that is being reported, as a view where it is one line. */
  data(): Buffer {
    const { block, base, reportedMarks } = this;
    if (this.dataLines === 1) return block.subarray(this.dataFrom, this.dataEnd);
    return this.dataOf(block, base, reportedMarks) ?? nothing;
  }

  /** The first line of the block whose data is being reported stands here in the stream. */
  get fieldsStart(): number {
    return this.lastOffset + this.lines[0]!;
  }

  /** The block whose data is being reported has a field of this name as well. */
  hasField(name: string): boolean {
    const { block, base } = this;
    for (let mark = 0; mark < this.reportedMarks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (!isDataLine(block, start, end) && isField(block, start, end, name)) return true;
    }
    return false;
  }

  /** The lines beside the data that is being reported, each with a line feed. */
  otherLines(): Buffer {
    const { block, base } = this;
    const lines: Buffer[] = [];
    for (let mark = 0; mark < this.reportedMarks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (!isDataLine(block, start, end)) lines.push(block.subarray(start, end), feedBytes);
    }
    return Buffer.concat(lines);
  }

  /** Takes the next bytes. Returns a fault, now and from then on, once a block has outgrown the bound. */
  push(chunk: Uint8Array): Fault | undefined {
    if (this.failure) return this.failure;
    const size = chunk.length;
    if (size === 0) return undefined;
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, size);

    /** The block begins here in this chunk; it is negative when the block began in an earlier one. */
    let origin = -this.carried;
    let at = 0;
    if (this.afterReturn) {
      this.afterReturn = false;
      if (bytes[0] === lineFeed) {
        at = 1;
        this.lineStart += 1;
      }
    }
    // The next of each kind, looked up again only once passed: a chunk without one is searched for it once.
    let feed = bytes.indexOf(lineFeed, at);
    let ret = bytes.indexOf(carriageReturn, at);
    while (feed !== -1 || ret !== -1) {
      let end = feed;
      let next = feed + 1;
      if (ret !== -1 && (feed === -1 || ret < feed)) {
        end = ret;
        next = ret + 1;
        if (next === size) this.afterReturn = true;
        else if (bytes[next] === lineFeed) next += 1;
      }
      const lineEnd = end - origin;
      if (lineEnd === this.lineStart) {
        if (next - origin > this.maxEventBytes) return this.fail();
        this.finishBlock(bytes, origin, next);
        origin = next;
      } else {
        this.lines[this.lineMarks++] = this.lineStart;
        this.lines[this.lineMarks++] = lineEnd;
        this.lineStart = next - origin;
      }
      if (feed !== -1 && feed < next) feed = bytes[next] === lineFeed ? next : bytes.indexOf(lineFeed, next);
      if (ret !== -1 && ret < next) ret = bytes.indexOf(carriageReturn, next);
    }
    if (size - origin > this.maxEventBytes) return this.fail();
    if (origin < size) this.keep(bytes, Math.max(origin, 0), size);
    return undefined;
  }

  /** The stream is over: an event that lacks only its closing blank line is reported, as not complete. */
  end(): Fault | undefined {
    if (this.failure || this.carried === 0) return this.failure;
    if (this.lineStart < this.carried) {
      this.lines[this.lineMarks++] = this.lineStart;
      this.lines[this.lineMarks++] = this.carried;
    }
    this.finishBlock(nothing, -this.carried, 0, false);
    return undefined;
  }

  private fail(): Fault {
    this.failure = fault('provider_response_too_large', {
      message: `An event of the stream is larger than ${this.maxEventBytes} bytes.`,
    });
    this.reset();
    return this.failure;
  }

  private reset(): void {
    this.carry = nothing;
    this.carried = 0;
    this.lineStart = 0;
    this.lineMarks = 0;
  }

  /** Copies an unfinished block's bytes; doubling keeps the whole linear however small the chunks are. */
  private keep(bytes: Buffer, from: number, to: number): void {
    const needed = this.carried + to - from;
    if (needed > this.carry.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(smallestCarry, needed, this.carry.length * 2));
      this.carry.copy(larger, 0, 0, this.carried);
      this.carry = larger;
    }
    bytes.copy(this.carry, this.carried, from, to);
    this.carried = needed;
  }

  private finishBlock(bytes: Buffer, origin: number, end: number, complete = true): void {
    let block = bytes;
    let base = origin;
    if (origin < 0) {
      this.keep(bytes, 0, end);
      block = this.carry.subarray(0, this.carried);
      base = 0;
    }
    const offset = this.blockOffset;
    this.lastOffset = offset;
    const length = end - origin;
    const marks = this.lineMarks;
    this.blockOffset += length;
    // The carry is given away with the event and never written again.
    this.reset();
    if (offset === 0) this.skipByteOrderMark(block, base, marks);
    if (marks === 0 && !this.everyBlock) return;

    if (this.onText) this.reportText(this.onText, block, base, marks, complete);
    if (!this.onEvent && !this.onData) return;
    const data = this.dataOf(block, base, marks);
    if (data && this.onData) this.onData(data, complete);
    if (this.onEvent && (data || this.everyBlock)) {
      const event = new SseEvent(data, block.subarray(base, base + length), offset, complete);
      this.readFields(event, block, base, marks);
      this.onEvent(event);
    }
  }

  private reportText(
    report: (text: string, complete: boolean) => void,
    block: Buffer,
    base: number,
    marks: number,
    complete: boolean,
  ): void {
    this.dataLines = 0;
    for (let mark = 0; mark < marks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (!isDataLine(block, start, end)) continue;
      this.dataLines += 1;
      this.dataFrom = valueStart(block, start + 4, end);
      this.dataEnd = end;
    }
    if (this.dataLines === 0) return;
    this.block = block;
    this.base = base;
    this.reportedMarks = marks;
    const text =
      this.dataLines === 1
        ? block.toString('utf8', this.dataFrom, this.dataEnd)
        : this.data().toString('utf8');
    report(text, complete);
    this.block = nothing;
  }

  private skipByteOrderMark(block: Buffer, base: number, marks: number): void {
    if (marks === 0 || this.lines[1]! < 3) return;
    if (block[base] === 0xef && block[base + 1] === 0xbb && block[base + 2] === 0xbf) this.lines[0] = 3;
  }

  private dataOf(block: Buffer, base: number, marks: number): Buffer | null {
    let first: Buffer | null = null;
    let rest: Buffer[] | undefined;
    for (let mark = 0; mark < marks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (!isDataLine(block, start, end)) continue;
      const value = block.subarray(valueStart(block, start + 4, end), end);
      if (first === null) first = value;
      else (rest ??= []).push(value);
    }
    return first && rest ? joinLines([first, ...rest]) : first;
  }

  private readFields(event: SseEvent, block: Buffer, base: number, marks: number): void {
    for (let mark = 0; mark < marks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (block[start] === firstOfData || block[start] === colon) continue;
      const found = block.subarray(start, end).indexOf(colon);
      const nameEnd = found === -1 ? end : start + found;
      const name = block.toString('latin1', start, nameEnd);
      if (name === 'event') event.event = block.toString('utf8', valueStart(block, nameEnd, end), end);
      else if (name === 'id') readId(event, block.toString('utf8', valueStart(block, nameEnd, end), end));
      else if (name === 'retry')
        readRetry(event, block.toString('latin1', valueStart(block, nameEnd, end), end));
    }
  }
}

/** The line is `data`, then its end or a colon. */
const isDataLine = (block: Buffer, start: number, end: number): boolean =>
  block[start] === firstOfData &&
  block[start + 1] === 0x61 &&
  block[start + 2] === 0x74 &&
  block[start + 3] === 0x61 &&
  (start + 4 === end || block[start + 4] === colon);

function isField(block: Buffer, start: number, end: number, name: string): boolean {
  const nameEnd = start + name.length;
  if (nameEnd > end || (nameEnd < end && block[nameEnd] !== colon)) return false;
  for (let at = start; at < nameEnd; at += 1) if (block[at] !== name.charCodeAt(at - start)) return false;
  return true;
}

/** The value stands behind the colon that follows a field's name, and behind one space. */
function valueStart(block: Buffer, nameEnd: number, end: number): number {
  if (nameEnd >= end) return end;
  return nameEnd + 1 < end && block[nameEnd + 1] === space ? nameEnd + 2 : nameEnd + 1;
}

const feedBytes = Buffer.from([lineFeed]);

const joinLines = (values: Buffer[]): Buffer =>
  Buffer.concat(values.flatMap((value, index) => (index === 0 ? [value] : [feedBytes, value])));

function readId(event: SseEvent, value: string): void {
  if (!value.includes('\0')) event.id = value;
}

function readRetry(event: SseEvent, value: string): void {
  if (/^\d+$/.test(value)) event.retry = Number(value);
}
