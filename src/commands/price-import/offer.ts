import type { ModelKind } from '../../catalogue';
import type { PriceRates } from '../../kernel';

/** What a price list says of one model of one supplier. */
export interface Offer {
  readonly id: string;
  /** As the list calls the supplier. */
  readonly provider: string;
  readonly displayName: string;
  readonly kind: ModelKind;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  readonly capabilities: readonly string[];
  readonly regions: readonly string[];
  /** When it ends, as far as the list knows. */
  readonly endOfLife: string | null;
  readonly rates: PriceRates;
}

/** Nothing is free by omission. Throws a RangeError, whose message is the reason of a refusal. */
export function assertPriced(
  kind: ModelKind,
  rates: { readonly input?: bigint; readonly output?: bigint },
): void {
  if (kind === 'chat' && (rates.input === undefined || rates.output === undefined))
    throw new RangeError('a chat model needs a price of input and of output');
}

/** Something of the list that could not be taken over. */
export interface Refused {
  readonly id: string;
  readonly provider: string;
  readonly reason: string;
}

export interface PriceList {
  readonly offers: readonly Offer[];
  readonly refused: readonly Refused[];
  /** Keys without a place here, and on how many models of which supplier they stand. */
  readonly unknownKeys: readonly { readonly provider: string; readonly key: string }[];
}

/** A price list in one of the formats that are going round. */
export interface PriceFormat {
  readonly name: string;
  read(content: unknown): PriceList;
}
