import type { IncomingHttpHeaders } from 'node:http';
import { monotonicMs, type ByteParts } from '../../../kernel';
import type { SupplierCall, SupplierHandler } from '../supplier-transport';
import type { ResponseSink } from './response-parser';
import { SupplierDeadline } from '../errors';
import { type TimedEntry, DeadlineTimer } from './deadline-timer';

export interface CallTerms {
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  /** Called once a connection is available; an error prevents the call from being sent. */
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

/**
 * A call from waiting for a connection to the last byte of the response, checked whenever one of its deadlines might
 * have passed.
 */
export class WireCall implements SupplierCall, ResponseSink, TimedEntry {
  index = -1;
  dueMs = Infinity;
  hasStarted = false;
  isOver = false;
  isPaused = false;
  readonly isBodiless: boolean;
  private connection: CallCarrier | null = null;
  private isAnswered = false;
  private isMonitored = false;
  private readonly startedMs = monotonicMs();
  private receivedMs = 0;

  constructor(
    readonly head: string,
    readonly body: ByteParts,
    private readonly handler: SupplierHandler,
    private readonly terms: CallTerms,
    private readonly onFinish: () => void,
  ) {
    this.isBodiless = terms.isBodiless;
    deadlineTimer.schedule(this, Math.min(terms.firstByteMs, terms.totalMs));
  }

  /** Confirms that the call is still to be sent, now that there is a connection. */
  confirmStart(): boolean {
    if (this.isOver) return false;
    const reason = this.terms.changedMind?.() ?? null;
    if (reason !== null) this.fail(reason);
    return !this.isOver;
  }

  startOn(connection: CallCarrier): void {
    this.hasStarted = true;
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

  /** Part of the response has arrived, and more is expected. */
  noteReceived(): void {
    this.receivedMs = monotonicMs();
    if (!this.isAnswered || this.isMonitored || this.isOver) return;
    this.isMonitored = true;
    this.scheduleNext(this.receivedMs);
  }

  end(): void {
    if (this.finish()) this.handler.onEnd?.();
  }

  fail(error: Error): void {
    if (this.finish()) this.handler.onBroken?.(error);
  }

  /** Bytes that arrived meanwhile might have moved the deadline. */
  onDue(): void {
    const { totalMs } = this.terms;
    const now = monotonicMs();
    if (this.isPaused) this.receivedMs = now;
    if (this.startedMs + totalMs - now < 1) this.abort(new SupplierDeadline('was not done after', totalMs));
    else if (this.silenceDeadline - now < 1) this.checkSilence();
    else this.scheduleNext(now);
  }

  private get silenceDeadline(): number {
    const { firstByteMs, idleMs } = this.terms;
    return this.isAnswered ? this.receivedMs + idleMs : this.startedMs + firstByteMs;
  }

  /** Timers run before pending reads, so data that arrived while the process was busy is read first. */
  private checkSilence(): void {
    const deadline = this.silenceDeadline;
    const decide = (): void => {
      if (this.isOver) return;
      if (this.isPaused || this.silenceDeadline > deadline) return this.onDue();
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
    const deadline = Math.min(this.startedMs + this.terms.totalMs, this.silenceDeadline);
    deadlineTimer.schedule(this, deadline - now);
  }

  private finish(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    deadlineTimer.cancel(this);
    this.onFinish();
    return true;
  }
}
