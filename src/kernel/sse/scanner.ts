import { type Fault, fault } from '../errors/fault';
import { SseEvent } from './event';

export interface SseScannerOptions {
  /** Called for every event that carries data, in order, before `push` returns. */
  onEvent?: (event: SseEvent) => void;
  /** Receives only the data of each event, as a view. */
  onData?: (data: Buffer, complete: boolean) => void;
  /** Receives the data as text, decoded without a view. `complete` is false for an event that the stream cut off. */
  onText?: (text: string, complete: boolean) => void;
  /** Also reports blocks without data (comments, stray blank lines), so that the `raw` views tile the stream. */
  everyBlock?: boolean;
  /** A block larger than this ends the scan with a fault. */
  maxEventBytes?: number;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;
const firstDataByte = 0x64;

const defaultMaxEventBytes = 16 * 1024 * 1024;
const minCarryBytes = 1024;
const emptyBuffer = Buffer.alloc(0);

/**
 * Finds the events in a byte stream; an event within one chunk is a view of it, and only one that straddles chunks is
 * copied. A line feed after a chunk's final carriage return opens the next block's `raw`.
 */
export class SseScanner {
  private readonly onEvent: SseScannerOptions['onEvent'];
  private readonly onData: SseScannerOptions['onData'];
  private readonly onText: SseScannerOptions['onText'];
  private readonly everyBlock: boolean;
  private readonly maxEventBytes: number;

  /** Start of an unfinished block, from earlier chunks. */
  private carry = emptyBuffer;
  private carriedBytes = 0;
  /** Start of the unfinished line, relative to its block. */
  private lineStart = 0;
  /** Start and end of each finished line of the block, in turn; reused from block to block. */
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

  /** The block being reported, and the value of its last data line. */
  private block: Buffer = emptyBuffer;
  private base = 0;
  private reportedMarks = 0;
  private dataLines = 0;
  private dataFrom = 0;
  private dataEnd = 0;

  /** Stream offset of the last reported block. */
  get blockStart(): number {
    return this.lastOffset;
  }

  /** Stream offset up to which all blocks are finished. */
  get blockEnd(): number {
    return this.blockOffset;
  }

  /** Stream offset of the data being reported; -1 if joined from several lines. */
  get dataStart(): number {
    return this.dataLines === 1 ? this.lastOffset + this.dataFrom - this.base : -1;
  }

  /** Byte length of the data being reported; -1 if joined from several lines. */
  get dataLength(): number {
    return this.dataLines === 1 ? this.dataEnd - this.dataFrom : -1;
  }

  data(): Buffer {
    const { block, base, reportedMarks } = this;
    if (this.dataLines === 1) return block.subarray(this.dataFrom, this.dataEnd);
    return this.dataOf(block, base, reportedMarks) ?? emptyBuffer;
  }

  /** Stream offset of the first line of the block being reported. */
  get fieldsStart(): number {
    return this.lastOffset + this.lines[0]!;
  }

  /** True if the block being reported also has a field of this name. */
  hasField(name: string): boolean {
    const { block, base } = this;
    for (let mark = 0; mark < this.reportedMarks; mark += 2) {
      const start = base + this.lines[mark]!;
      const end = base + this.lines[mark + 1]!;
      if (!isDataLine(block, start, end) && isField(block, start, end, name)) return true;
    }
    return false;
  }

  /** Lines of the block being reported that are not data, each with a line feed. */
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

  /** Consumes the next bytes. Returns a fault, now and on every later call, once a block exceeds the limit. */
  push(chunk: Uint8Array): Fault | undefined {
    if (this.failure) return this.failure;
    const size = chunk.length;
    if (size === 0) return undefined;
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, size);

    /** Start of the block in this chunk; negative if it started in an earlier chunk. */
    let origin = -this.carriedBytes;
    let at = 0;
    if (this.afterReturn) {
      this.afterReturn = false;
      if (bytes[0] === lineFeed) {
        at = 1;
        this.lineStart += 1;
      }
    }
    // Each is searched again only once passed, so a chunk without one is searched once.
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
    if (origin < size) this.appendToCarry(bytes, Math.max(origin, 0), size);
    return undefined;
  }

  /** Ends the stream: an event that lacks only its closing blank line is reported as incomplete. */
  end(): Fault | undefined {
    if (this.failure || this.carriedBytes === 0) return this.failure;
    if (this.lineStart < this.carriedBytes) {
      this.lines[this.lineMarks++] = this.lineStart;
      this.lines[this.lineMarks++] = this.carriedBytes;
    }
    this.finishBlock(emptyBuffer, -this.carriedBytes, 0, false);
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
    this.carry = emptyBuffer;
    this.carriedBytes = 0;
    this.lineStart = 0;
    this.lineMarks = 0;
  }

  /** Copies an unfinished block's bytes; doubling keeps the total cost linear however small the chunks are. */
  private appendToCarry(bytes: Buffer, from: number, to: number): void {
    const needed = this.carriedBytes + to - from;
    if (needed > this.carry.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(minCarryBytes, needed, this.carry.length * 2));
      this.carry.copy(larger, 0, 0, this.carriedBytes);
      this.carry = larger;
    }
    bytes.copy(this.carry, this.carriedBytes, from, to);
    this.carriedBytes = needed;
  }

  private finishBlock(bytes: Buffer, origin: number, end: number, complete = true): void {
    let block = bytes;
    let base = origin;
    if (origin < 0) {
      this.appendToCarry(bytes, 0, end);
      block = this.carry.subarray(0, this.carriedBytes);
      base = 0;
    }
    const offset = this.blockOffset;
    this.lastOffset = offset;
    const length = end - origin;
    const marks = this.lineMarks;
    this.blockOffset += length;
    // The carry is handed over with the event and never written again.
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
    this.block = emptyBuffer;
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
      if (block[start] === firstDataByte || block[start] === colon) continue;
      const colonIndex = block.subarray(start, end).indexOf(colon);
      const nameEnd = colonIndex === -1 ? end : start + colonIndex;
      const name = block.toString('latin1', start, nameEnd);
      if (name === 'event') event.event = block.toString('utf8', valueStart(block, nameEnd, end), end);
      else if (name === 'id') readId(event, block.toString('utf8', valueStart(block, nameEnd, end), end));
      else if (name === 'retry')
        readRetry(event, block.toString('latin1', valueStart(block, nameEnd, end), end));
    }
  }
}

/** A data line is `data`, then its end or a colon. */
const isDataLine = (block: Buffer, start: number, end: number): boolean =>
  block[start] === firstDataByte &&
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
