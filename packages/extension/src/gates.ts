import type { Mask } from './masks';
import type { SettledRecord } from './records';
import type { GateLane, GateRequest } from './requests';

export type Abstain = { readonly verdict: 'abstain' };
/** `code` is one of the error catalogue, with a status from 400 to 499. */
export type Reject = { readonly verdict: 'reject'; readonly code: string; readonly message: string };
export type Restrict = { readonly verdict: 'restrict'; readonly lanes: readonly number[] };
export type Order = { readonly verdict: 'order'; readonly lanes: readonly number[] };
/** Replacement texts, by their index in `texts`. */
export type Rewrite = {
  readonly verdict: 'rewrite';
  readonly texts: readonly { readonly at: number; readonly text: string }[];
};

export type RequestVerdict = Abstain | Reject | Rewrite;
export type LaneVerdict = Abstain | Reject | Restrict | Order;
type MaybePromise<Verdict> = Verdict | Promise<Verdict>;

/** A request hook that runs at the stages for which it has methods. */
export interface Gate {
  /** Appears in records and on pages as `<extension>/<name>`. */
  readonly name: string;
  /** From 1 to 10,000. */
  readonly timeoutMs: number;
  /** Whether a request continues when the gate fails or times out. */
  readonly onError: 'open' | 'closed';
  /** Called after the request is parsed, before money is held for it. */
  request?(request: GateRequest, signal: AbortSignal): MaybePromise<RequestVerdict>;
  /** Called with the lanes in the order in which they would be tried. */
  candidates?(
    request: GateRequest,
    lanes: readonly GateLane[],
    signal: AbortSignal,
  ): MaybePromise<LaneVerdict>;
  /** Masks every text of a response that the caller could see. */
  readonly answer?: Mask;
  /** Called after settlement; cannot change anything. */
  settled?(record: SettledRecord, signal: AbortSignal): void | Promise<void>;
}

export const abstain: Abstain = Object.freeze({ verdict: 'abstain' });
export const reject = (code: string, message: string): Reject => ({ verdict: 'reject', code, message });
export const restrict = (lanes: readonly number[]): Restrict => ({ verdict: 'restrict', lanes });
export const order = (lanes: readonly number[]): Order => ({ verdict: 'order', lanes });
export const rewrite = (texts: Rewrite['texts']): Rewrite => ({ verdict: 'rewrite', texts });
