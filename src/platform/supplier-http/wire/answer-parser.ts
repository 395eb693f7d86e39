import type { IncomingHttpHeaders } from 'node:http';
import { MINUTE_MS } from '../../../kernel';
import { ChunkedBody } from './chunked-body';
import { BrokenAnswer } from '../errors';
import { headersIn } from './header-lines';

/** The reader of an answer as it arrives. */
export interface AnswerSink {
  /** The answer ends with its head, whatever that says of a length. */
  readonly isBodiless?: boolean;
  onHead(status: number, headers: IncomingHttpHeaders): void;
  onData(piece: Buffer): void;
}

const MOST_HEAD_BYTES = 16 * 1024;
const MOST_EARLY_HEADS = 16;
/** An idle connection is used again for so long, unless the supplier says otherwise, and at most for so long. */
const USUAL_IDLE_MS = 30_000;
const LONGEST_IDLE_MS = MINUTE_MS;
/** A safety margin before the supplier's own time-out, so that no call meets a closing connection. */
const IDLE_MARGIN_MS = 2_000;

const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d) [\t\x20-\x7e\x80-\xff]*$/;
/** The usual beginning of an answer. */
const usualLine = 'HTTP/1.1 200 OK\r\n';
/** The one status that forbids a body and does not end the answer with its head. */
const RESET_CONTENT = 205;
const digits = /^\d{1,15}$/;

type Framing = 'none' | 'length' | 'chunked' | 'close';

/**
 * Reads HTTP/1.1 answers from the bytes of a connection, in chunks of any size. It is strict: an answer that
 * two parsers could read differently is refused.
 */
export class AnswerParser {
  private sink: AnswerSink | null = null;
  /** This part has come of a head that is not whole yet. */
  private part: Buffer | null = null;
  private framing: Framing = 'none';
  private isInBody = false;
  /** The first body bytes are passed on chunk by chunk, since the first word decides much. */
  private isBeginning = false;
  private left = 0;
  /** A body would contradict the status, although the framing allows one. */
  private isEmptyByStatus = false;
  private readonly chunked = new ChunkedBody();
  private earlyHeads = 0;
  /** The connection may be idle for so long and still be used again; 0 means not at all. */
  idleMs = 0;

  /** An answer is expected, or on its way. */
  get isReading(): boolean {
    return this.sink !== null;
  }

  expect(sink: AnswerSink): void {
    this.sink = sink;
    this.part = null;
    this.isInBody = false;
    this.earlyHeads = 0;
    this.idleMs = 0;
  }

  /** Parses one read; its memory may be reused afterwards. It returns true once the answer is whole. */
  read(memory: Buffer, count: number): boolean {
    let at = 0;
    while (!this.isInBody) {
      at = this.readHead(memory, at, count);
      if (at === -1) return false;
    }
    const end = this.readBody(memory, at, count);
    if (end === -1) return false;
    // Bytes after an answer belong to no request.
    if (end < count) this.idleMs = 0;
    this.sink = null;
    return true;
  }

  /** The connection has ended; true where that is the end of the answer. */
  close(): boolean {
    const isWhole = this.isInBody && this.framing === 'close';
    this.idleMs = 0;
    this.sink = null;
    return isWhole;
  }

  /** The body begins at the offset returned, or at -1 while some of the head is missing. */
  private readHead(memory: Buffer, from: number, to: number): number {
    const { part } = this;
    const known = part?.length ?? 0;
    const bytes = part === null ? memory : Buffer.concat([part, memory.subarray(from, to)]);
    const start = part === null ? from : 0;
    const length = part === null ? to : bytes.length;
    const end = bytes.indexOf(headEnd, part === null ? from : Math.max(0, known - 3));
    const isThere = end !== -1 && end + headEnd.length <= length;
    if ((isThere ? end : length - headEnd.length) - start > MOST_HEAD_BYTES)
      throw new BrokenAnswer('its head is too large');
    if (!isThere) {
      this.part = part === null ? Buffer.from(bytes.subarray(start, length)) : bytes;
      return -1;
    }
    this.part = null;
    this.takeHead(bytes.toString('latin1', start, end));
    return end + headEnd.length - known + (part === null ? 0 : from);
  }

  private takeHead(text: string): void {
    if (text.startsWith(usualLine)) return this.takeFields(200, true, headersIn(text, usualLine.length));
    const firstEnd = text.indexOf('\r\n');
    const match = statusLine.exec(firstEnd === -1 ? text : text.slice(0, firstEnd));
    if (match === null) throw new BrokenAnswer('it does not begin with a status');
    const status = Number(match[2]);
    const headers = firstEnd === -1 ? {} : headersIn(text, firstEnd + 2);
    this.takeFields(status, match[1] === '1', headers);
  }

  private takeFields(status: number, isLasting: boolean, headers: IncomingHttpHeaders): void {
    if (status === 101) throw new BrokenAnswer('it changes the protocol');
    if (status < 200) {
      // Informational answers (1xx) precede the real one.
      this.earlyHeads += 1;
      if (this.earlyHeads > MOST_EARLY_HEADS) throw new BrokenAnswer('it never begins');
      return;
    }
    if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      throw new BrokenAnswer('it is compressed, although that was not offered');
    this.frame(status, headers);
    // HTTP/1.0 has no chunked coding: the end of such an answer is too uncertain for another to follow.
    const mayLast = this.framing === 'length' || this.framing === 'none' || isLasting;
    this.idleMs = this.framing === 'close' || !mayLast ? 0 : idleTimeIn(headers, isLasting);
    this.isEmptyByStatus = status === RESET_CONTENT;
    this.isInBody = this.isBeginning = true;
    this.sink!.onHead(status, headers);
  }

  private frame(status: number, headers: IncomingHttpHeaders): void {
    const { 'transfer-encoding': coding, 'content-length': length } = headers;
    if (coding !== undefined && (length !== undefined || coding.toLowerCase() !== 'chunked'))
      throw new BrokenAnswer('its length is told in more than one way');
    if (length !== undefined && !digits.test(length)) throw new BrokenAnswer('its length is no number');
    if (status === 204 || status === 304 || this.sink!.isBodiless === true) this.framing = 'none';
    else if (coding !== undefined) {
      this.framing = 'chunked';
      this.chunked.begin();
    } else if (length !== undefined) {
      this.framing = 'length';
      this.left = Number(length);
    } else this.framing = 'close';
  }

  /** The answer ends at the offset returned, or at -1 while some of it is missing. */
  private readBody(memory: Buffer, from: number, to: number): number {
    switch (this.framing) {
      case 'none':
        return from;
      case 'chunked': {
        const { chunked, isBeginning } = this;
        let at = from;
        while (at < to && !chunked.isOver) {
          at = chunked.read(memory, at, to, isBeginning);
          const piece = chunked.take();
          if (piece !== null) this.pass(piece);
        }
        if (at > from) this.isBeginning = false;
        return chunked.isOver ? at : -1;
      }
      case 'length': {
        const size = Math.min(this.left, to - from);
        this.left -= size;
        if (size > 0) this.pass(copyOf(memory, from, from + size));
        return this.left === 0 ? from + size : -1;
      }
      case 'close':
        if (to > from) this.pass(copyOf(memory, from, to));
        return -1;
    }
  }

  private pass(piece: Buffer): void {
    if (this.isEmptyByStatus) throw new BrokenAnswer('it has a body that its status forbids');
    this.sink!.onData(piece);
  }
}

function copyOf(memory: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from);
  memory.copy(copy, 0, from, to);
  return copy;
}

function idleTimeIn(headers: IncomingHttpHeaders, isLasting: boolean): number {
  const options = (headers.connection ?? '').toLowerCase().split(',');
  const says = (wanted: string): boolean => options.some((option) => option.trim() === wanted);
  const lasts = isLasting ? !says('close') : says('keep-alive') && !says('close');
  if (!lasts) return 0;
  const { 'keep-alive': hint } = headers as Record<string, string | undefined>;
  const seconds = hint === undefined ? undefined : /timeout=(\d{1,6})/.exec(hint)?.[1];
  if (seconds === undefined) return USUAL_IDLE_MS;
  return Math.min(Math.max(0, Number(seconds) * 1_000 - IDLE_MARGIN_MS), LONGEST_IDLE_MS);
}
