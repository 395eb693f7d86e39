import { type Fault, fault, type SwapListMember } from '../../kernel';

interface Abortable {
  abort(cause: Fault): void;
}

const CALLER_DISCONNECTED = 'caller_left';

/** Never sent, as the caller disconnected. Proxies log status 499 for it. */
const callerDisconnectedError = (): Fault =>
  fault('stream_interrupted', { status: 499, outcome: CALLER_DISCONNECTED, message: 'The caller left.' });

export class RequestWork implements SwapListMember {
  index = -1;
  private current: Abortable | null = null;
  private cause: Fault | null = null;
  private outlivesCaller = false;
  private isCallerGone = false;
  private byService = false;

  /** Reason why the work was stopped; null while it runs. */
  get stopped(): Fault | null {
    return this.cause;
  }

  get callerLeft(): boolean {
    return this.isCallerGone;
  }

  get stoppedByCaller(): boolean {
    return this.isCallerGone && this.cause?.outcome === CALLER_DISCONNECTED;
  }

  /**
   * True if the service stopped the work. The caller pays nothing then, unlike one who left or whose key was revoked.
   */
  get stoppedByService(): boolean {
    return this.byService;
  }

  /** From now on the request runs to its end even if its caller disconnects: the response is stored for a retry. */
  detachFromCaller(): void {
    this.outlivesCaller = true;
  }

  watch(call: Abortable): void {
    this.current = call;
    if (this.cause !== null) call.abort(this.cause);
  }

  leave(): void {
    this.isCallerGone = true;
    if (!this.outlivesCaller) this.stop(callerDisconnectedError());
  }

  stop(cause: Fault, { byService = false } = {}): void {
    if (this.cause !== null) return;
    this.cause = cause;
    this.byService = byService;
    this.current?.abort(cause);
  }
}
