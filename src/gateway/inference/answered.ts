import type { UsageLimits } from '../../kernel';
import type { Dropped } from '../../protocol';
import type { CallSecrets, LanePermit, PlannedLane, RoutePlan, SupplierExchange } from '../../routing';
import type { Work } from '../work';
import type { Admission } from './admit';
import type { Delivery } from './delivery';
import type { Call } from './describe';
import type { HeldCall } from './hold';
import type { Inbound } from './inbound';
import type { Outbound } from './outbound';
import type { OpenedStream } from './stream/opening';

/** Everything a request is sent with, whichever lane it takes. */
export interface Sending {
  readonly inbound: Inbound;
  readonly call: Call;
  readonly admission: Admission;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: Work;
}

/** A lane that has begun to answer. */
export interface LaneAnswer {
  readonly route: PlannedLane;
  /** The right by which it was asked. */
  readonly permit: LanePermit;
  /** The catalogue's name of the model that answers. */
  readonly model: string;
  /** What a report of usage has to keep to, to be believed. */
  readonly limits: UsageLimits;
  readonly outbound: Outbound;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
  /** What must not be passed on when the answer is a failure. */
  readonly secrets: CallSecrets;
  /** What of the body the supplier did not get. */
  readonly dropped: readonly Dropped[];
  /** The bound that near a budget's end was put on the answer; null where there is none. */
  readonly outputCap: number | null;
  /** Another lane should have answered and could not. */
  readonly failover: boolean;
}

export interface WholeDelivery extends Delivery {
  readonly body: Buffer;
  readonly contentType: string;
}

/** An answer in hand: one of the two, as it was asked for. */
export interface Answered extends LaneAnswer {
  opened: OpenedStream | null;
  whole: WholeDelivery | null;
}
