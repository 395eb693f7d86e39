import type { Socket } from 'node:net';
import { monotonicMs } from '../../../kernel';
import { AnswerParser } from './answer-parser';
import type { Reading } from './connect';
import { BrokenAnswer, SupplierClosed } from '../errors';
import type { WireCall } from './wire-call';

/** A connection as its owner sees it. */
export interface Carrier {
  /** The supplier still accepts calls on it, as far as can be known. */
  readonly isUsable: boolean;
  /** Nothing has to come for so long yet. */
  readonly restMs: number;
  carry(call: WireCall): void;
  /** Without an error nobody needs it any more. */
  destroy(error?: Error): void;
}

/** The owner has the connection. */
export interface Owner {
  /**
   * For so long nothing may come behind an answer before the next call is sent. A second answer on its way
   * would be taken for the answer to that call.
   */
  readonly restMs: number;
  opened(connection: Carrier): void;
  /** The connection is ready for the next call. */
  freed(connection: Carrier): void;
  /** `failure` is set when it was not good for a single call. */
  closed(connection: Carrier, wasOpen: boolean, failure: Error | null): void;
  /** It brought an answer that nobody had asked for. */
  strayed(): void;
}

/** Pieces this short are joined with the one before: one write costs less than two. */
const SHORT_BYTES = 4 * 1024;

/** One that was opened and not needed after all is kept for so long. */
const UNUSED_MS = 10_000;
/** Servers say so on a connection that was idle for too long, and close it. */
const IDLE_TOO_LONG = /^HTTP\/1\.[01] 408 /;
/** A connection that closes sooner is a failure: opening the next at once could loop for ever. */
const YOUNG_MS = 1_000;

/** Keeps one connection to a supplier, with one call on it at a time. */
export class Connection implements Carrier {
  private readonly parser = new AnswerParser();
  private readonly socket: Socket;
  private call: WireCall | null = null;
  private openedMs: number | null = null;
  private isUsed = false;
  private cause: Error | null = null;
  /** The answer is whole, but its reader has asked for a pause. */
  private heldBack = false;
  private usableUntil = 0;
  private usableFrom = 0;

  constructor(
    connect: (reading: Reading) => Socket,
    private readonly isEncrypted: boolean,
    private readonly owner: Owner,
  ) {
    this.socket = connect((memory, count) => this.read(memory, count));
    this.socket
      .on(isEncrypted ? 'secureConnect' : 'connect', () => this.open())
      .on('error', (error) => (this.cause = error))
      // The peer has closed: nothing more can come, and what is sent would not be read.
      .on('end', () => this.end())
      .on('close', () => {
        this.end();
        owner.closed(this, this.openedMs !== null, this.failure());
      });
  }

  private open(): void {
    this.openedMs = monotonicMs();
    this.usableUntil = this.openedMs + UNUSED_MS;
    this.owner.opened(this);
  }

  get isUsable(): boolean {
    const { destroyed, writableLength } = this.socket;
    // Some of a request that was answered early is still to be sent, and the supplier may not read it.
    return !destroyed && writableLength === 0 && monotonicMs() < this.usableUntil;
  }

  get restMs(): number {
    return this.usableFrom - monotonicMs();
  }

  carry(call: WireCall): void {
    call.beginsOn(this);
    this.call = call;
    this.isUsed = true;
    this.parser.expect(call);
    const { socket } = this;
    const { parts } = call.body;
    // In latin1 every byte is one character, and the same byte again.
    let text = call.head;
    for (const part of parts) {
      if (typeof part === 'string' || part.length <= SHORT_BYTES) {
        text += typeof part === 'string' ? part : part.toString('latin1');
        continue;
      }
      if (socket.writableCorked === 0) socket.cork();
      if (text !== '') socket.write(text, 'latin1');
      text = '';
      socket.write(part);
    }
    if (text !== '') socket.write(text, 'latin1');
    if (socket.writableCorked > 0) socket.uncork();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
    if (!this.heldBack) return;
    this.heldBack = false;
    this.finish();
  }

  /** Closes at once: the supplier sees it, and the call learns of it where it has to. */
  destroy(error?: Error): void {
    const { call } = this;
    this.call = null;
    this.socket.destroy();
    if (error !== undefined) call?.fail(error);
  }

  private read(memory: Buffer, count: number): boolean {
    const { call } = this;
    // Unsolicited bytes would be taken for the answer to the next request.
    if (call === null || this.heldBack) {
      this.cause ??= new BrokenAnswer('nobody had asked');
      if (this.isUsed && !IDLE_TOO_LONG.test(memory.toString('latin1', 0, Math.min(count, 16)))) {
        this.owner.strayed();
      }
      return this.refuse();
    }
    try {
      const isWhole = this.parser.read(memory, count);
      if (isWhole && !call.isPaused) this.finish();
      else if (isWhole) this.heldBack = true;
      else call.waits();
    } catch (error) {
      return this.refuse(error as Error);
    }
    return !call.isPaused;
  }

  private refuse(error?: Error): boolean {
    this.destroy(error);
    return false;
  }

  private finish(): void {
    const call = this.call;
    this.call = null;
    const { socket, parser } = this;
    const isFree = parser.idleMs > 0 && !socket.destroyed;
    if (isFree) {
      this.usableFrom = monotonicMs() + this.owner.restMs;
      this.usableUntil = monotonicMs() + parser.idleMs;
      this.owner.freed(this);
    } else socket.destroy();
    call?.end();
  }

  private end(): void {
    const { call } = this;
    if (call === null || this.heldBack) return void this.socket.destroy();
    // Node does not tell an orderly end of TLS from a cut, so an end without a length is taken for a cut.
    if (this.parser.close() && this.cause === null && !this.isEncrypted) return this.finish();
    this.destroy(this.cause ?? new SupplierClosed());
  }

  private failure(): Error | null {
    const wasGood = this.openedMs !== null && (this.isUsed || monotonicMs() - this.openedMs > YOUNG_MS);
    return wasGood ? null : (this.cause ?? new SupplierClosed());
  }
}
