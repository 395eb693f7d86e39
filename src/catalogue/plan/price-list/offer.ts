import type { ModelKind } from '../../entities';
import type { PriceRates } from '../../../kernel';
import type { OfferedRates } from './tiered-rates';

export interface Offer {
  readonly id: string;
  readonly provider: string;
  readonly displayName: string;
  readonly kind: ModelKind;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  readonly capabilities: readonly string[];
  readonly regions: readonly string[];
  readonly endOfLife: string | null;
  readonly rates: PriceRates;
}

/** Nothing is free by omission. Throws a RangeError whose message is the reason of the refusal. */
export function assertPriced(
  kind: ModelKind,
  { input, output, audioOutput, imageOutput }: OfferedRates,
): void {
  if (kind === 'chat' && (input === undefined || output === undefined))
    throw new RangeError('a chat model needs a price of input and of output');
  if (kind === 'speech' && !output && !audioOutput)
    throw new RangeError('it has a price of the tokens of its text alone, and none of sound');
  if (kind === 'image' && !output && !imageOutput)
    throw new RangeError('it has no price of pictures that is charged here');
}

export interface RefusedOffer {
  readonly id: string;
  readonly provider: string;
  readonly reason: string;
}

export interface UnknownKey {
  readonly id: string;
  readonly provider: string;
  readonly key: string;
}

export interface PriceList {
  readonly offers: readonly Offer[];
  readonly refused: readonly RefusedOffer[];
  readonly unknownKeys: readonly UnknownKey[];
}

export interface PriceFormat {
  readonly name: string;
  read(content: unknown): PriceList;
}
