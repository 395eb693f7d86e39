import type { Fault, Listed } from '../kernel';

/** Something that can be broken off: a call to a supplier. */
interface Breakable {
  abort(cause: Fault): void;
}

/** One request under way. It may be stopped at any time, be it waiting for a supplier or in the middle of a stream. */
export class Work implements Listed {
  place = -1;
  private current: Breakable | null = null;
  private cause: Fault | null = null;
  /** It was the caller who did not wait for the end. */
  callerLeft = false;

  /** Why it was stopped; null while nobody has. */
  get stopped(): Fault | null {
    return this.cause;
  }

  /** Names what a stop has to break off from now on. */
  watch(call: Breakable): void {
    this.current = call;
    if (this.cause !== null) call.abort(this.cause);
  }

  leave(cause: Fault): void {
    this.callerLeft ||= this.cause === null;
    this.stop(cause);
  }

  stop(cause: Fault): void {
    if (this.cause !== null) return;
    this.cause = cause;
    this.current?.abort(cause);
  }
}
