import type { RequestKey } from './requests';

/** A fee is decided by a request and a supplier's model that may answer it. */
export interface FeeRequest {
  readonly operation: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly tags: readonly string[];
  readonly key: RequestKey;
}

/** It is added to every rate of the price; amounts are whole nano-dollars. */
export interface Fee {
  /** For each call of the supplier. */
  readonly perCall?: bigint;
  /** For a million tokens of any kind. */
  readonly perMillionTokens?: bigint;
  /** A part of the price, in millionths: 50,000 is 5 %. */
  readonly share?: number;
}

/** A fee of its own, which is held for, charged and recorded with the price. The same request gives the same fee. */
export interface PriceComponent {
  readonly name: string;
  /** It answers at once; null is no fee. A request is refused where this throws. */
  fee(request: FeeRequest): Fee | null;
}
