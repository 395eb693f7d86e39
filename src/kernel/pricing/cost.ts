import type { Nano } from '../money';
import {
  COUNT_CAP,
  INPUT_BUCKETS,
  OUTPUT_BUCKETS,
  promptTokens,
  USAGE_BUCKETS,
  type UsageBucket,
  type UsageCounts,
} from '../usage';
import { type PriceRates, rateSteps, type ResolvedRates } from './rates';

/**
 * Tokens are priced by the million, audio by the minute of 60,000 ms. Both divide 3,000,000, so sums are kept
 * in nano-USD times that and divided once, at the very end.
 */
const SCALE = 3_000_000n;
const TOKEN_WEIGHT = 3n;
const MILLISECOND_WEIGHT = 50n;

/** The exact price, rounded up once to a whole nano-dollar. */
export function costOf(usage: UsageCounts, price: PriceRates): Nano {
  const rates = ratesFor(price, promptTokens(usage));
  let tokens = 0n;
  for (const bucket of USAGE_BUCKETS) {
    const count = usage[bucket];
    if (count > 0) tokens += BigInt(count) * rates[bucket];
  }
  return roundUp(tokens * TOKEN_WEIGHT + fixedPart(usage.calls, usage.audioMilliseconds, price));
}

/** What a request may use at most, as far as it is known before it is sent. */
export interface RequestBound {
  readonly inputTokens: number;
  readonly calls?: number;
  readonly audioMilliseconds?: number;
  /** Buckets this request cannot use, such as audio in a request without any: they do not count. */
  readonly unusedBuckets?: readonly UsageBucket[];
}

/**
 * The most that a request within the bound can cost on any of these prices: every token at the dearest rate it
 * could get. Nothing within the bound costs more, whatever the supplier makes of it.
 */
export function boundOf(
  bound: RequestBound & { readonly maxOutputTokens: number },
  prices: readonly PriceRates[],
): Nano {
  let dearest = 0n;
  for (const price of prices) {
    const { fixed, perOutputToken } = dearestOf(bound, price);
    const total = fixed + perOutputToken * BigInt(bound.maxOutputTokens);
    if (total > dearest) dearest = total;
  }
  return roundUp(dearest);
}

/**
 * How many output tokens `nano` pays for on the dearest of these prices: the largest number whose bound is not
 * above it. Null when not even the input fits.
 */
export function outputThatFits(
  nano: Nano,
  bound: RequestBound,
  prices: readonly PriceRates[],
): number | null {
  let fits = BigInt(COUNT_CAP);
  for (const price of prices) {
    const { fixed, perOutputToken } = dearestOf(bound, price);
    const left = nano * SCALE - fixed;
    if (left < 0n) return null;
    if (perOutputToken > 0n && left / perOutputToken < fits) fits = left / perOutputToken;
  }
  return Number(fits);
}

function dearestOf(bound: RequestBound, price: PriceRates): { fixed: bigint; perOutputToken: bigint } {
  const unused = bound.unusedBuckets ?? [];
  let input = 0n;
  let output = 0n;
  for (const step of rateSteps(price)) {
    if (step.above >= bound.inputTokens) break;
    input = dearest(input, INPUT_BUCKETS, step.rates, unused);
    output = dearest(output, OUTPUT_BUCKETS, step.rates, unused);
  }
  return {
    fixed:
      BigInt(bound.inputTokens) * input * TOKEN_WEIGHT +
      fixedPart(bound.calls ?? 1, bound.audioMilliseconds ?? 0, price),
    perOutputToken: output * TOKEN_WEIGHT,
  };
}

function dearest(
  start: bigint,
  buckets: readonly UsageBucket[],
  rates: ResolvedRates,
  unused: readonly UsageBucket[],
): bigint {
  let highest = start;
  for (const bucket of buckets) {
    if (rates[bucket] > highest && !unused.includes(bucket)) highest = rates[bucket];
  }
  return highest;
}

function ratesFor(price: PriceRates, inputTokens: number): ResolvedRates {
  const steps = rateSteps(price);
  for (let index = steps.length - 1; index > 0; index -= 1) {
    const step = steps[index];
    if (step !== undefined && inputTokens > step.above) return step.rates;
  }
  const [base] = steps;
  if (base === undefined) throw new Error('a price always has a base');
  return base.rates;
}

function fixedPart(calls: number, audioMilliseconds: number, price: PriceRates): bigint {
  return (
    BigInt(calls) * price.perCallNano * SCALE +
    BigInt(audioMilliseconds) * price.perMinuteNano * MILLISECOND_WEIGHT
  );
}

function roundUp(scaled: bigint): Nano {
  return (scaled + SCALE - 1n) / SCALE;
}
