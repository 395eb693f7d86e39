import type { IncomingHttpHeaders } from 'node:http';
import { monotonicMs, type Pieces } from '../../../kernel';
import type { SupplierCall, SupplierHandler } from '../supplier-transport';
import type { AnswerSink } from './answer-parser';
import { SupplierDeadline } from '../errors';
import { type Timed, DeadlineTimer } from './deadline-timer';

export interface CallTerms {
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  /** Asked when a connection is there at last: an error is why the call is not sent after all. */
  readonly changedMind: (() => Error | null) | undefined;
  readonly isBodiless: boolean;
}

/** The connection of a call, as far as the call controls it. */
interface CallCarrier {
  pause(): void;
  resume(): void;
  destroy(): void;
}

const deadlineTimer = new DeadlineTimer();

/** A call from the wait for a connection to the last byte of the answer, looked at when one of its deadlines may be over. */
export class WireCall implements SupplierCall, AnswerSink, Timed {
  index = -1;
  dueMs = Infinity;
  begun = false;
  isOver = false;
  isPaused = false;
  readonly isBodiless: boolean;
  private connection: CallCarrier | null = null;
  private isAnswered = false;
  private isWatched = false;
  private readonly startedMs = monotonicMs();
  private receivedMs = 0;

  constructor(
    readonly head: string,
    readonly body: Pieces,
    private readonly handler: SupplierHandler,
    private readonly terms: CallTerms,
    private readonly leave: () => void,
  ) {
    this.isBodiless = terms.isBodiless;
    deadlineTimer.schedule(this, Math.min(terms.firstByteMs, terms.totalMs));
  }

  /** The call is asked whether it is still to be sent, now that there is a connection. */
  isWanted(): boolean {
    if (this.isOver) return false;
    const reason = this.terms.changedMind?.() ?? null;
    if (reason !== null) this.fail(reason);
    return !this.isOver;
  }

  beginsOn(connection: CallCarrier): void {
    this.begun = true;
    this.connection = connection;
  }

  pause(): void {
    if (this.isOver || this.isPaused) return;
    this.isPaused = true;
    this.connection?.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.receivedMs = monotonicMs();
    if (!this.isOver) this.connection?.resume();
  }

  abort(reason: Error): void {
    if (this.isOver) return;
    this.connection?.destroy();
    this.fail(reason);
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.isAnswered = true;
    if (!this.isOver) this.handler.onHead?.(status, headers);
  }

  onData(piece: Buffer): void {
    if (!this.isOver) this.handler.onData?.(piece);
  }

  /** Something has come, and more is to come. */
  waits(): void {
    this.receivedMs = monotonicMs();
    if (!this.isAnswered || this.isWatched || this.isOver) return;
    this.isWatched = true;
    this.scheduleNext(this.receivedMs);
  }

  end(): void {
    if (this.finish()) this.handler.onEnd?.();
  }

  fail(error: Error): void {
    if (this.finish()) this.handler.onBroken?.(error);
  }

  /** Bytes that have come meanwhile may have moved the end. */
  onDue(): void {
    const { totalMs } = this.terms;
    const now = monotonicMs();
    if (this.isPaused) this.receivedMs = now;
    if (this.startedMs + totalMs - now < 1) this.abort(new SupplierDeadline('was not done after', totalMs));
    else if (this.silentUntil - now < 1) this.listenOnce();
    else this.scheduleNext(now);
  }

  /** A side that has sent nothing new by this time has been silent for too long. */
  private get silentUntil(): number {
    const { firstByteMs, idleMs } = this.terms;
    return this.isAnswered ? this.receivedMs + idleMs : this.startedMs + firstByteMs;
  }

  /** Timers come before what has arrived meanwhile: where we were busy for long, it is read first. */
  private listenOnce(): void {
    const until = this.silentUntil;
    const decide = (): void => {
      if (this.isOver) return;
      if (this.isPaused || this.silentUntil > until) return this.onDue();
      const { firstByteMs, idleMs } = this.terms;
      this.abort(
        this.isAnswered
          ? new SupplierDeadline('sent nothing for', idleMs)
          : new SupplierDeadline('has not begun after', firstByteMs),
      );
    };
    setImmediate(() => setImmediate(decide));
  }

  private scheduleNext(now: number): void {
    const until = Math.min(this.startedMs + this.terms.totalMs, this.silentUntil);
    deadlineTimer.schedule(this, until - now);
  }

  private finish(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    deadlineTimer.cancel(this);
    this.leave();
    return true;
  }
}
