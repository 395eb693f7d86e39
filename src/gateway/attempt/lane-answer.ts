import type { Fault, Usage } from '../../kernel';
import type { Dropped, SupplierError } from '../../protocol';
import type { StoredKind } from '../../vendors';
import type { CallSecrets, LanePermit, PlannedLane, SupplierExchange } from '../../routing';
import type { RoutedCall } from '../admission';
import type { LaneSpan } from '../trace/lane-span';
import type { Outbound } from './outbound';

/** One try of a call at one lane. */
export interface LaneTry {
  readonly routed: RoutedCall;
  readonly route: PlannedLane;
  /** The permit under which the lane is asked. */
  readonly permit: LanePermit;
  /** Another lane was preferred and could not answer. */
  readonly failover: boolean;
  /** The lane refused the request with the reasoning of earlier turns. */
  readonly withoutReasoning: boolean;
  /** What telemetry hears of it; null where none is sent. */
  readonly span: LaneSpan | null;
}

/** A lane that has begun to answer. */
export interface LaneAnswer extends LaneTry {
  readonly outbound: Outbound;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
  /** Secrets to redact from the answer when it is a failure. */
  readonly secrets: CallSecrets;
  /** These parts of the request were not sent, those lost by the translation included. */
  readonly dropped: readonly Dropped[];
  /** One of the two, as it was asked for. */
  stream: LaneStream | null;
  whole: Delivery<Buffer> | null;
  /** The part of a stream that can go to the caller; it grows until the exchange has another reader. */
  readonly early: (Buffer | string)[];
}

/** The style of a supplier reads the failure that a body may hold. */
export type ReadError = (body: unknown) => SupplierError | undefined;

/** It makes the stream of a lane that has begun to answer. */
export type StreamOf = (answer: LaneAnswer) => LaneStream;

/** The reader reads answers on their way to the caller. */
export interface AnswerReader {
  readonly stream: StreamOf;
  /** Reads a whole answer, or the failure in its place. */
  readonly whole: (
    answer: LaneAnswer,
    bytes: Buffer,
    readError: ReadError,
  ) => Delivery<Buffer> | SupplierError;
}

/** A delivery reached the caller, or is about to: it has everything that settlement needs to know. */
export interface Delivery<Body extends Buffer | string = Buffer | string> {
  readonly by: LaneTry;
  readonly status: number;
  /** It is the usage as it is charged. */
  readonly usage: Usage;
  readonly finishReason: string | null;
  /** The ids of its tool calls, for a request that may go to any model. */
  readonly calls: readonly string[];
  /** Reasoning in it that only its author can read. */
  readonly seals?: readonly string[];
  /** Ids of content that its supplier stores, if the answer was passed on. */
  readonly stored?: ReadonlyMap<string, StoredKind>;
  readonly firstTokenMs: number | null;
  /** These parts did not reach the supplier, or were lost in translation there or back. */
  readonly dropped: readonly Dropped[];
  /** It is set when the answer did not become whole. */
  readonly problem: Fault | null;
  /** The body leaves once it is settled: the whole answer, or the last bytes of a stream. */
  readonly body: Body;
}

/** It carries the stream of one lane to the caller. */
export interface LaneStream {
  /** Takes what came and answers what goes on now. */
  take(chunk: Buffer): Buffer | string;
  /** The caller has something useful: from here on failures are reported in the stream. */
  readonly useful: boolean;
  /** The answer is whole: nothing that may still come belongs to it. */
  readonly ended: boolean;
  /** A fault in the stream: nothing more of it is forwarded. */
  readonly failure: Fault | null;
  /** The body ended, or broke off for a reason. A second call answers the same. */
  finish(broken: Fault | null): Delivery;
  /** Replaces the last bytes: a failure of our own after the supplier's last byte. */
  fail(problem: Fault): string;
}
