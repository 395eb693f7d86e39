import type { Fault, Usage } from '../../kernel';
import type { Dropped } from '../../protocol';
import type { CallSecrets, LanePermit, PlannedLane, SupplierExchange } from '../../routing';
import type { Outbound } from './outbound';
import type { RoutedCall } from './routed-call';

/** One try of a call at one lane. */
export interface LaneTry {
  readonly routed: RoutedCall;
  readonly route: PlannedLane;
  /** The right by which the lane is asked. */
  readonly permit: LanePermit;
  /** Another lane should have answered and could not. */
  readonly failover: boolean;
}

/** A lane that has begun to answer. */
export interface LaneAnswer extends LaneTry {
  readonly outbound: Outbound;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
  /** What must not be passed on when the answer is a failure. */
  readonly secrets: CallSecrets;
  /** What of the body the supplier did not get. */
  readonly dropped: readonly Dropped[];
  /** One of the two, as it was asked for. */
  stream: LaneStream | null;
  whole: Delivery<Buffer> | null;
  /** What of a stream can go to the caller already; it grows until the exchange has another reader. */
  readonly early: (Buffer | string)[];
}

/** What reached the caller, or is about to: everything settlement needs to know of it. */
export interface Delivery<Body extends Buffer | string = Buffer | string> {
  readonly by: LaneTry;
  readonly status: number;
  /** As it is charged. */
  readonly usage: Usage;
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  /** What the supplier did not get, and what a translation lost on the way there or back. */
  readonly dropped: readonly Dropped[];
  /** Set when the answer did not become whole. */
  readonly problem: Fault | null;
  /** What leaves once it is settled: the whole answer, or the last bytes of a stream. */
  readonly body: Body;
}

/** What becomes of one lane's stream on its way to the caller. */
export interface LaneStream {
  /** Takes what came and answers what goes on now. */
  take(chunk: Buffer): Buffer | string;
  /** Something has come that the caller can use: from here on the caller is told what happens. */
  readonly useful: boolean;
  /** The answer is whole: nothing that may still come belongs to it. */
  readonly ended: boolean;
  /** What in it is wrong: nothing more of it goes on, however much may come. */
  readonly failure: Fault | null;
  /** The body is over, or was broken off for a reason. Asked again it answers the same. */
  finish(broken: Fault | null): Delivery;
  /** Instead of the last bytes: a failure of our own, after the supplier had said everything. */
  fail(problem: Fault): string;
}
