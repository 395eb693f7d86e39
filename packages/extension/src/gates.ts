import type { Mask } from './masks';
import type { SettledRecord } from './records';
import type { GateLane, GateRequest } from './requests';

export type Abstain = { readonly verdict: 'abstain' };
/** The code is one of the error catalogue, with a status from 400 to 499. */
export type Reject = { readonly verdict: 'reject'; readonly code: string; readonly message: string };
export type Restrict = { readonly verdict: 'restrict'; readonly lanes: readonly number[] };
export type Order = { readonly verdict: 'order'; readonly lanes: readonly number[] };
/** Pieces by their place in `texts`. */
export type Rewrite = {
  readonly verdict: 'rewrite';
  readonly texts: readonly { readonly at: number; readonly text: string }[];
};

export type RequestVerdict = Abstain | Reject | Rewrite;
export type LaneVerdict = Abstain | Reject | Restrict | Order;
type Answered<Verdict> = Verdict | Promise<Verdict>;

/** It looks at requests at the stages that it has methods for. */
export interface Gate {
  /** Records and pages name it as `<extension>/<name>`. */
  readonly name: string;
  /** From 1 to 10,000. */
  readonly timeoutMs: number;
  /** Whether a request goes on where the gate fails or is late. */
  readonly onError: 'open' | 'closed';
  /** After the request is understood, before money is set aside for it. */
  request?(request: GateRequest, signal: AbortSignal): Answered<RequestVerdict>;
  /** The lanes in the order in which they would be tried. */
  candidates?(request: GateRequest, lanes: readonly GateLane[], signal: AbortSignal): Answered<LaneVerdict>;
  /** Every text of an answer that its caller could see. */
  readonly answer?: Mask;
  /** It sees what was settled and changes nothing. */
  settled?(record: SettledRecord, signal: AbortSignal): void | Promise<void>;
}

export const abstain: Abstain = Object.freeze({ verdict: 'abstain' });
export const reject = (code: string, message: string): Reject => ({ verdict: 'reject', code, message });
export const restrict = (lanes: readonly number[]): Restrict => ({ verdict: 'restrict', lanes });
export const order = (lanes: readonly number[]): Order => ({ verdict: 'order', lanes });
export const rewrite = (texts: Rewrite['texts']): Rewrite => ({ verdict: 'rewrite', texts });
