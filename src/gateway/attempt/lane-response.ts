import type { Fault, Usage } from '../../kernel';
import type { Dropped, SupplierError } from '../../protocol';
import type { StoredContentKind } from '../../vendors';
import type { CallSecrets, LanePermit, PlannedLane, SupplierExchange } from '../../routing';
import type { RoutedCall } from '../admission';
import type { LaneSpan } from '../trace/lane-span';
import type { OutboundRequest } from './outbound';

export interface LaneAttempt {
  readonly routed: RoutedCall;
  readonly route: PlannedLane;
  readonly permit: LanePermit;
  readonly failover: boolean;
  readonly withoutReasoning: boolean;
  readonly span: LaneSpan | null;
}

export interface LaneResponse extends LaneAttempt {
  readonly outbound: OutboundRequest;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
  /** Secrets to redact from an error response. */
  readonly secrets: CallSecrets;
  readonly dropped: readonly Dropped[];
  stream: LaneStream | null;
  complete: Delivery<Buffer> | null;
  /** Part of the stream that is ready for the caller; grows until the exchange gets another reader. */
  readonly early: (Buffer | string)[];
}

export type ReadError = (body: unknown) => SupplierError | undefined;

export type StreamFactory = (answer: LaneResponse) => LaneStream;

export interface LaneResponseReader {
  readonly stream: StreamFactory;
  readonly readComplete: (
    answer: LaneResponse,
    bytes: Buffer,
    readError: ReadError,
  ) => Delivery<Buffer> | SupplierError;
}

/** Outcome of a response for settlement: delivered to the caller, or about to be. */
export interface Delivery<Body extends Buffer | string = Buffer | string> {
  readonly by: LaneAttempt;
  readonly status: number;
  readonly usage: Usage;
  readonly finishReason: string | null;
  readonly calls: readonly string[];
  /** Signatures of reasoning that only its author can read. */
  readonly seals?: readonly string[];
  readonly stored?: ReadonlyMap<string, StoredContentKind>;
  readonly firstTokenMs: number | null;
  readonly dropped: readonly Dropped[];
  readonly problem: Fault | null;
  /** Sent after settlement: the complete response, or the last bytes of a stream. */
  readonly body: Body;
}

export interface LaneStream {
  take(chunk: Buffer): Buffer | string;
  /** True once the caller has useful output: later failures are reported in the stream. */
  readonly useful: boolean;
  /** True if the response is complete: later bytes do not belong to it. */
  readonly ended: boolean;
  readonly failure: Fault | null;
  /** Ends the stream; `broken` is the connection's failure. Idempotent. */
  finish(broken: Fault | null): Delivery;
  /** Replaces the last bytes by an error, for a failure of our own after the supplier's last byte. */
  fail(problem: Fault): string;
}
