import type { UsageBucket } from '../usage';

/** Tokens are priced by the million, audio by the minute, the rest by the call. */
type RateUnit = 'tokens' | 'minute' | 'call';

/** Called `<word>` in files and columns, and `<word>_price` in forms and JSON. */
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

/** A rate of anything but tokens. */
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
 * Every rate of a price; nothing else lists them. The fourth value of a rate of tokens is the rate that applies where a
 * price has none of its own; it stands above. A rate that has no such value always applies, be it as zero.
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

type Rate = (typeof RATES)[number];
type TokenRate = Extract<Rate, { unit: 'tokens' }>;
type FlatRate = Exclude<Rate, TokenRate>;

/** The field of a rate in forms and in JSON. */
export type RateField = Rate['field'];
export type RateName = Rate['name'];
export type TokenRateName = TokenRate['name'];

/** The amounts of these rates; null where the rate that it falls back to applies. */
type Amounts<Given extends Rate> = {
  readonly [One in Given as One['name']]: One['fallback'] extends null ? bigint : bigint | null;
};

/** These are nano-USD for a million tokens of each bucket. */
export type BucketRates = Amounts<TokenRate>;
/** Nano-USD for a minute of audio, charged by the millisecond, and for a call. */
export type FlatRates = Amounts<FlatRate>;

export const TOKEN_RATES = RATES.filter((rate): rate is TokenRate => rate.unit === 'tokens');
export const FLAT_RATES = RATES.filter((rate): rate is FlatRate => rate.unit !== 'tokens');
