import type { Socket } from 'node:net';
import { monotonicMs } from '../../../kernel';
import { ResponseParser } from './response-parser';
import type { ReadCallback } from './connect';
import { BrokenAnswer, SupplierClosed } from '../errors';
import type { WireCall } from './wire-call';

export interface Carrier {
  /** True if the supplier still accepts calls on it, as far as is known. */
  readonly isUsable: boolean;
  /** Remaining time in which nothing must arrive. */
  readonly restMs: number;
  carry(call: WireCall): void;
  /** Without an error, the connection is merely no longer needed. */
  destroy(error?: Error): void;
}

export interface ConnectionOwner {
  /**
   * Time after a response in which nothing must arrive before the next call is sent. A second response in transit would
   * be taken for the response to that call.
   */
  readonly restMs: number;
  onOpened(connection: Carrier): void;
  /** The connection is ready for the next call. */
  onFreed(connection: Carrier): void;
  /** `failure` is set if the connection did not serve a single call. */
  onClosed(connection: Carrier, wasOpen: boolean, failure: Error | null): void;
  onUnsolicited(): void;
}

/** Shorter pieces are joined with the one before: one write costs less than two. */
const SHORT_BYTES = 4 * 1024;

/** How long an opened but unneeded connection is kept. */
const UNUSED_MS = 10_000;
/** Sent by servers on a connection that was idle for too long, before they close it. */
const IDLE_TOO_LONG = /^HTTP\/1\.[01] 408 /;
/** A connection that closes sooner counts as a failure: opening the next immediately could loop forever. */
const YOUNG_MS = 1_000;

/** Keeps one connection to a supplier, with one call on it at a time. */
export class Connection implements Carrier {
  private readonly parser = new ResponseParser();
  private readonly socket: Socket;
  private call: WireCall | null = null;
  private openedMs: number | null = null;
  private isUsed = false;
  private cause: Error | null = null;
  /** The response is complete, but its reader has paused. */
  private isHeldBack = false;
  private usableUntil = 0;
  private usableFrom = 0;

  constructor(
    connect: (onRead: ReadCallback) => Socket,
    private readonly isEncrypted: boolean,
    private readonly owner: ConnectionOwner,
  ) {
    this.socket = connect((memory, count) => this.read(memory, count));
    this.socket
      .on(isEncrypted ? 'secureConnect' : 'connect', () => this.open())
      .on('error', (error) => (this.cause = error))
      // The peer has closed: nothing more arrives, and sent data would not be read.
      .on('end', () => this.end())
      .on('close', () => {
        this.end();
        owner.onClosed(this, this.openedMs !== null, this.failure());
      });
  }

  private open(): void {
    this.openedMs = monotonicMs();
    this.usableUntil = this.openedMs + UNUSED_MS;
    this.owner.onOpened(this);
  }

  get isUsable(): boolean {
    const { destroyed, writableLength } = this.socket;
    // Part of a request that was answered early is still to be sent, and the supplier might not read it.
    return !destroyed && writableLength === 0 && monotonicMs() < this.usableUntil;
  }

  get restMs(): number {
    return this.usableFrom - monotonicMs();
  }

  carry(call: WireCall): void {
    call.startOn(this);
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
    if (!this.isHeldBack) return;
    this.isHeldBack = false;
    this.finish();
  }

  /** Closes immediately; the call is notified only of an error. */
  destroy(error?: Error): void {
    const { call } = this;
    this.call = null;
    this.socket.destroy();
    if (error !== undefined) call?.fail(error);
  }

  private read(memory: Buffer, count: number): boolean {
    const { call } = this;
    // Unsolicited bytes would be taken for the response to the next request.
    if (call === null || this.isHeldBack) {
      this.cause ??= new BrokenAnswer('nobody had asked');
      if (this.isUsed && !IDLE_TOO_LONG.test(memory.toString('latin1', 0, Math.min(count, 16)))) {
        this.owner.onUnsolicited();
      }
      return this.reject();
    }
    try {
      const isComplete = this.parser.read(memory, count);
      if (isComplete && !call.isPaused) this.finish();
      else if (isComplete) this.isHeldBack = true;
      else call.noteReceived();
    } catch (error) {
      return this.reject(error as Error);
    }
    return !call.isPaused;
  }

  private reject(error?: Error): boolean {
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
      this.owner.onFreed(this);
    } else socket.destroy();
    call?.end();
  }

  private end(): void {
    const { call } = this;
    if (call === null || this.isHeldBack) return void this.socket.destroy();
    // Node does not distinguish an orderly end of TLS from a cut, so an end without a length counts as a cut.
    if (this.parser.close() && this.cause === null && !this.isEncrypted) return this.finish();
    this.destroy(this.cause ?? new SupplierClosed());
  }

  private failure(): Error | null {
    const wasGood = this.openedMs !== null && (this.isUsed || monotonicMs() - this.openedMs > YOUNG_MS);
    return wasGood ? null : (this.cause ?? new SupplierClosed());
  }
}
