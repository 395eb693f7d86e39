import { type Fault, fault, type Listed } from '../../kernel';

/** A call to a supplier can be broken off. */
interface Breakable {
  abort(cause: Fault): void;
}

const CALLER_LEFT = 'caller_left';

/** No error, and never sent: the caller disconnected. 499 is the status that proxies log for it. */
const callerLeft = (): Fault =>
  fault('stream_interrupted', { status: 499, outcome: CALLER_LEFT, message: 'The caller left.' });

/** One request under way. It may be stopped at any time, be it waiting for a supplier or in the middle of a stream. */
export class Work implements Listed {
  index = -1;
  private current: Breakable | null = null;
  private cause: Fault | null = null;
  private outlivesCaller = false;
  private left = false;
  private byService = false;

  /** The work was stopped for this reason; null while it runs. */
  get stopped(): Fault | null {
    return this.cause;
  }

  /** The caller did not wait for the end. */
  get callerLeft(): boolean {
    return this.left;
  }

  /** It was that which stopped it. */
  get stoppedByCaller(): boolean {
    return this.left && this.cause?.outcome === CALLER_LEFT;
  }

  /** The service stopped the work. Its caller pays nothing, unlike one who left or whose key ended. */
  get stoppedByService(): boolean {
    return this.byService;
  }

  /** From now on it runs to its end even if its caller disconnects: the answer is stored for a repeated request. */
  detachFromCaller(): void {
    this.outlivesCaller = true;
  }

  /** Registers what a stop has to abort from now on. */
  watch(call: Breakable): void {
    this.current = call;
    if (this.cause !== null) call.abort(this.cause);
  }

  /** The caller is gone. */
  leave(): void {
    this.left = true;
    if (!this.outlivesCaller) this.stop(callerLeft());
  }

  stop(cause: Fault, { byService = false } = {}): void {
    if (this.cause !== null) return;
    this.cause = cause;
    this.byService = byService;
    this.current?.abort(cause);
  }
}
