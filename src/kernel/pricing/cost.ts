import type { Nano } from '../money';
import { COUNT_CAP, promptTokens, type UsageCounts } from '../usage';
import { type PriceRates, rateSteps, type RateStep } from './rates';

/**
 * Tokens are priced by the million, audio by the minute of 60,000 ms. Both divide 3,000,000, so sums are kept
 * in nano-USD times that and divided once, at the very end.
 */
const SCALE = 3_000_000n;
const TOKEN_WEIGHT = 3n;
const MILLISECOND_WEIGHT = 50n;

/** The exact price, rounded up once to a whole nano-dollar. */
export function costOf(usage: UsageCounts, price: PriceRates): Nano {
  const { rates } = stepFor(price, promptTokens(usage));
  const tokens =
    part(usage.inputTokens, rates.inputTokens) +
    part(usage.cacheReadTokens, rates.cacheReadTokens) +
    part(usage.cacheWriteTokens, rates.cacheWriteTokens) +
    part(usage.cacheWriteLongTokens, rates.cacheWriteLongTokens) +
    part(usage.outputTokens, rates.outputTokens) +
    part(usage.reasoningTokens, rates.reasoningTokens) +
    part(usage.audioInputTokens, rates.audioInputTokens) +
    part(usage.audioOutputTokens, rates.audioOutputTokens) +
    part(usage.imageTokens, rates.imageTokens);
  return roundUp(tokens * TOKEN_WEIGHT + fixedPart(usage.calls, usage.audioMilliseconds, price));
}

const part = (count: number, rate: bigint): bigint => (count > 0 ? BigInt(count) * rate : 0n);

/** What a request may use at most, as far as it is known before it is sent. */
export interface RequestBound {
  readonly inputTokens: number;
  readonly calls?: number;
  readonly audioMilliseconds?: number;
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
    const { fixed, perOutputToken } = dearestWithin(bound, price);
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
    const { fixed, perOutputToken } = dearestWithin(bound, price);
    const left = nano * SCALE - fixed;
    if (left < 0n) return null;
    if (perOutputToken > 0n && left / perOutputToken < fits) fits = left / perOutputToken;
  }
  return Number(fits);
}

function dearestWithin(bound: RequestBound, price: PriceRates): { fixed: bigint; perOutputToken: bigint } {
  const { inputTokens, calls = 1, audioMilliseconds = 0 } = bound;
  const { dearestInput, dearestOutput } = stepFor(price, inputTokens);
  return {
    fixed: BigInt(inputTokens) * dearestInput * TOKEN_WEIGHT + fixedPart(calls, audioMilliseconds, price),
    perOutputToken: dearestOutput * TOKEN_WEIGHT,
  };
}

/** The highest step that so many input tokens reach. */
function stepFor(price: PriceRates, inputTokens: number): RateStep {
  const steps = rateSteps(price);
  for (let index = steps.length - 1; index > 0; index -= 1) {
    const step = steps[index];
    if (step !== undefined && inputTokens > step.above) return step;
  }
  const [base] = steps;
  if (base === undefined) throw new Error('a price always has a base');
  return base;
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
