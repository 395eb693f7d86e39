import type { RequestKey } from './requests';

/** Input of a fee: a request and the supplier's model that might serve it. */
export interface FeeRequest {
  readonly operation: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly tags: readonly string[];
  readonly key: RequestKey;
}

/** Added to every rate of the price; amounts are whole nano-dollars. */
export interface Fee {
  /** Amount per call of the supplier. */
  readonly perCall?: bigint;
  /** Amount per million tokens of any kind. */
  readonly perMillionTokens?: bigint;
  /** Share of the price, in millionths: 50,000 is 5 %. */
  readonly share?: number;
}

/** A separate fee that is held, charged and recorded with the price. The same request always gives the same fee. */
export interface PriceComponent {
  readonly name: string;
  /** Returns the fee synchronously; null for none. Throwing refuses the request. */
  fee(request: FeeRequest): Fee | null;
}
