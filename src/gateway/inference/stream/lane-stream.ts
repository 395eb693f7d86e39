import type { Fault } from '../../../kernel';
import { sseFault } from '../../../kernel';
import type { Delivery } from '../delivery';
import type { TextSurface } from '../surface';

/** A stream that has been passed on, but for its last bytes: those leave after it is settled. */
export interface StreamDelivery extends Delivery {
  readonly last: Buffer | string;
}

/** What becomes of one lane's stream on its way to the caller. */
export interface LaneStream {
  /** Takes what came and answers what goes on now. */
  take(chunk: Buffer): Buffer | string;
  /** Something has come that the caller can use: from here on the caller is told what happens. */
  readonly useful: boolean;
  /** Why nothing more of it goes on, however much may come. */
  readonly failure: Fault | null;
  /** The body is over, or was broken off for a reason. */
  finish(broken: Fault | null): StreamDelivery;
}

/** A failure in the words of the dialect that the caller reads. */
export const inBand = ({ dialect }: TextSurface, problem: Fault, requestId: string): string =>
  sseFault(dialect.name, problem, requestId);
