import type { UsageBucket } from '../usage';

/** Tokens are priced per million, audio per minute, everything else per call. */
type RateUnit = 'tokens' | 'minute' | 'call';

/** Named `<word>` in files and columns, and `<word>_price` in forms and JSON. */
const tokens = <
  const Name extends string,
  const Word extends string,
  const Bucket extends UsageBucket,
  const Fallback extends string | null,
>(
  name: Name,
  word: Word,
  bucket: Bucket,
  fallback: Fallback,
) => ({ name, word, field: `${word}_price` as const, unit: 'tokens', bucket, fallback }) as const;

/** A rate that is not based on tokens. */
const flat = <
  const Name extends string,
  const Word extends string,
  const Field extends string,
  const Unit extends RateUnit,
>(
  name: Name,
  word: Word,
  field: Field,
  unit: Unit,
) => ({ name, word, field, unit, bucket: null, fallback: null }) as const;

/**
 * The only list of rates. The last argument of a token rate names an earlier rate to fall back to; a rate without one
 * always applies, even as zero.
 */
export const RATES = [
  tokens('input', 'input', 'inputTokens', null),
  tokens('output', 'output', 'outputTokens', null),
  tokens('cacheRead', 'cache_read', 'cacheReadTokens', 'input'),
  tokens('cacheWrite', 'cache_write', 'cacheWriteTokens', 'input'),
  tokens('cacheWriteLong', 'cache_write_long', 'cacheWriteLongTokens', 'cacheWrite'),
  tokens('reasoning', 'reasoning', 'reasoningTokens', 'output'),
  tokens('audioInput', 'audio_input', 'audioInputTokens', 'input'),
  tokens('audioOutput', 'audio_output', 'audioOutputTokens', 'output'),
  tokens('image', 'image', 'imageTokens', 'input'),
  tokens('imageOutput', 'image_output', 'imageOutputTokens', 'output'),
  flat('perCallNano', 'per_call', 'per_call_price', 'call'),
  flat('perMinuteNano', 'per_minute', 'ppm_price', 'minute'),
] as const;

type RateDefinition = (typeof RATES)[number];
type TokenRateDefinition = Extract<RateDefinition, { unit: 'tokens' }>;
type FlatRateDefinition = Exclude<RateDefinition, TokenRateDefinition>;

export type RateField = RateDefinition['field'];
export type RateName = RateDefinition['name'];
export type TokenRateName = TokenRateDefinition['name'];

/** Amounts of these rates; null if the fallback rate applies. */
type RateAmounts<Given extends RateDefinition> = {
  readonly [One in Given as One['name']]: One['fallback'] extends null ? bigint : bigint | null;
};

/** Nano-USD per million tokens of each bucket. */
export type BucketRates = RateAmounts<TokenRateDefinition>;
/** Nano-USD per minute of audio, charged per millisecond, and per call. */
export type FlatRates = RateAmounts<FlatRateDefinition>;

export const TOKEN_RATES = RATES.filter((rate): rate is TokenRateDefinition => rate.unit === 'tokens');
export const FLAT_RATES = RATES.filter((rate): rate is FlatRateDefinition => rate.unit !== 'tokens');
