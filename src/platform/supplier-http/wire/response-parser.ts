import type { IncomingHttpHeaders } from 'node:http';
import { MINUTE_MS } from '../../../kernel';
import { ChunkedBody } from './chunked-body';
import { BrokenAnswer } from '../errors';
import { headersIn } from './header-lines';

export interface ResponseSink {
  /** The response ends with its head, whatever length the head states. */
  readonly isBodiless?: boolean;
  onHead(status: number, headers: IncomingHttpHeaders): void;
  onData(piece: Buffer): void;
}

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_EARLY_HEADS = 16;
/** How long an idle connection is reused, unless the supplier states otherwise, and the maximum. */
const DEFAULT_IDLE_MS = 30_000;
const MAX_IDLE_MS = MINUTE_MS;
/** A safety margin before the supplier's own time-out, so that no call meets a closing connection. */
const IDLE_MARGIN_MS = 2_000;

const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d) [\t\x20-\x7e\x80-\xff]*$/;
/** The most common start of a response. */
const commonStatusLine = 'HTTP/1.1 200 OK\r\n';
/** The only status that forbids a body but does not end the response with its head. */
const RESET_CONTENT = 205;
const digits = /^\d{1,15}$/;

type Framing = 'none' | 'length' | 'chunked' | 'close';

/**
 * Reads HTTP/1.1 responses from the bytes of a connection, in reads of any size. Strict: a response that two parsers
 * could read differently is rejected.
 */
export class ResponseParser {
  private sink: ResponseSink | null = null;
  private partialHead: Buffer | null = null;
  private framing: Framing = 'none';
  private isInBody = false;
  /** The first body bytes are passed on chunk by chunk, to minimise the time to the first token. */
  private isAtStart = false;
  private remainingBytes = 0;
  /** The status forbids a body, although the framing allows one. */
  private forbidsBody = false;
  private readonly chunked = new ChunkedBody();
  private earlyHeads = 0;
  /** How long the connection can be idle and still be reused; 0 for not at all. */
  idleMs = 0;

  get isReading(): boolean {
    return this.sink !== null;
  }

  expect(sink: ResponseSink): void {
    this.sink = sink;
    this.partialHead = null;
    this.isInBody = false;
    this.earlyHeads = 0;
    this.idleMs = 0;
  }

  /** Parses one read, whose memory can be reused afterwards. Returns true once the response is complete. */
  read(memory: Buffer, count: number): boolean {
    let at = 0;
    while (!this.isInBody) {
      at = this.readHead(memory, at, count);
      if (at === -1) return false;
    }
    const end = this.readBody(memory, at, count);
    if (end === -1) return false;
    // Bytes after a response belong to no request.
    if (end < count) this.idleMs = 0;
    this.sink = null;
    return true;
  }

  /** Ends the connection; true if that is the end of the response. */
  close(): boolean {
    const isComplete = this.isInBody && this.framing === 'close';
    this.idleMs = 0;
    this.sink = null;
    return isComplete;
  }

  /** Returns the offset of the body, or -1 if the head is incomplete. */
  private readHead(memory: Buffer, from: number, to: number): number {
    const { partialHead } = this;
    const knownBytes = partialHead?.length ?? 0;
    const bytes = partialHead === null ? memory : Buffer.concat([partialHead, memory.subarray(from, to)]);
    const start = partialHead === null ? from : 0;
    const length = partialHead === null ? to : bytes.length;
    const end = bytes.indexOf(headEnd, partialHead === null ? from : Math.max(0, knownBytes - 3));
    const isFound = end !== -1 && end + headEnd.length <= length;
    if ((isFound ? end : length - headEnd.length) - start > MAX_HEAD_BYTES)
      throw new BrokenAnswer('its head is too large');
    if (!isFound) {
      this.partialHead = partialHead === null ? Buffer.from(bytes.subarray(start, length)) : bytes;
      return -1;
    }
    this.partialHead = null;
    this.parseHead(bytes.toString('latin1', start, end));
    return end + headEnd.length - knownBytes + (partialHead === null ? 0 : from);
  }

  private parseHead(text: string): void {
    if (text.startsWith(commonStatusLine))
      return this.applyHead(200, true, headersIn(text, commonStatusLine.length));
    const firstEnd = text.indexOf('\r\n');
    const match = statusLine.exec(firstEnd === -1 ? text : text.slice(0, firstEnd));
    if (match === null) throw new BrokenAnswer('it does not begin with a status');
    const status = Number(match[2]);
    const headers = firstEnd === -1 ? {} : headersIn(text, firstEnd + 2);
    this.applyHead(status, match[1] === '1', headers);
  }

  private applyHead(status: number, isPersistent: boolean, headers: IncomingHttpHeaders): void {
    if (status === 101) throw new BrokenAnswer('it changes the protocol');
    if (status < 200) {
      // Informational responses (1xx) precede the real one.
      this.earlyHeads += 1;
      if (this.earlyHeads > MAX_EARLY_HEADS) throw new BrokenAnswer('it never begins');
      return;
    }
    if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      throw new BrokenAnswer('it is compressed, although that was not offered');
    this.setFraming(status, headers);
    // HTTP/1.0 has no chunked coding: the end of such a response is too uncertain for another to follow.
    const canPersist = this.framing === 'length' || this.framing === 'none' || isPersistent;
    this.idleMs = this.framing === 'close' || !canPersist ? 0 : idleTimeIn(headers, isPersistent);
    this.forbidsBody = status === RESET_CONTENT;
    this.isInBody = this.isAtStart = true;
    this.sink!.onHead(status, headers);
  }

  private setFraming(status: number, headers: IncomingHttpHeaders): void {
    const { 'transfer-encoding': coding, 'content-length': length } = headers;
    if (coding !== undefined && (length !== undefined || coding.toLowerCase() !== 'chunked'))
      throw new BrokenAnswer('its length is told in more than one way');
    if (length !== undefined && !digits.test(length)) throw new BrokenAnswer('its length is no number');
    if (status === 204 || status === 304 || this.sink!.isBodiless === true) this.framing = 'none';
    else if (coding !== undefined) {
      this.framing = 'chunked';
      this.chunked.reset();
    } else if (length !== undefined) {
      this.framing = 'length';
      this.remainingBytes = Number(length);
    } else this.framing = 'close';
  }

  /** Returns the offset at which the response ends, or -1 if it is incomplete. */
  private readBody(memory: Buffer, from: number, to: number): number {
    switch (this.framing) {
      case 'none':
        return from;
      case 'chunked': {
        const { chunked, isAtStart } = this;
        let at = from;
        while (at < to && !chunked.isOver) {
          at = chunked.read(memory, at, to, isAtStart);
          const piece = chunked.takePiece();
          if (piece !== null) this.pass(piece);
        }
        if (at > from) this.isAtStart = false;
        return chunked.isOver ? at : -1;
      }
      case 'length': {
        const size = Math.min(this.remainingBytes, to - from);
        this.remainingBytes -= size;
        if (size > 0) this.pass(copyOf(memory, from, from + size));
        return this.remainingBytes === 0 ? from + size : -1;
      }
      case 'close':
        if (to > from) this.pass(copyOf(memory, from, to));
        return -1;
    }
  }

  private pass(piece: Buffer): void {
    if (this.forbidsBody) throw new BrokenAnswer('it has a body that its status forbids');
    this.sink!.onData(piece);
  }
}

function copyOf(memory: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from);
  memory.copy(copy, 0, from, to);
  return copy;
}

function idleTimeIn(headers: IncomingHttpHeaders, isPersistent: boolean): number {
  const options = (headers.connection ?? '').toLowerCase().split(',');
  const hasOption = (name: string): boolean => options.some((option) => option.trim() === name);
  const persists = isPersistent ? !hasOption('close') : hasOption('keep-alive') && !hasOption('close');
  if (!persists) return 0;
  const { 'keep-alive': hint } = headers as Record<string, string | undefined>;
  const seconds = hint === undefined ? undefined : /timeout=(\d{1,6})/.exec(hint)?.[1];
  if (seconds === undefined) return DEFAULT_IDLE_MS;
  return Math.min(Math.max(0, Number(seconds) * 1_000 - IDLE_MARGIN_MS), MAX_IDLE_MS);
}
