import type { Nano } from '../money';
import {
  type AskedFees,
  COUNT_CAP,
  INPUT_BUCKETS,
  NOTHING_ASKED,
  USAGE_BUCKETS,
  type UsageBucket,
  type UsageCounts,
  type UsagePart,
  type UseCounts,
  type UseName,
} from '../usage';
import {
  advisorRates,
  allAdvisorRates,
  chargedImageRate,
  chargedUseRate,
  type ModeSet,
  modesPossible,
  modesServed,
} from './fee-rates';
import { type PriceRates, stepFor, type TokenRates, UNCHANGED } from './rates';

/**
 * Tokens are priced by the million, audio by the minute of 60,000 ms. Both divide 3,000,000, so sums are kept
 * in nano-USD times that and divided once, at the very end. Every multiplier adds its own millionths.
 */
const SCALE = 3_000_000n;
const TOKEN_WEIGHT = 3n;
const MILLISECOND_WEIGHT = 50n;

/** The share of a price that a payer pays, in millionths; null is the price itself. */
export type PriceFactor = number | null;

/** The exact price times what is paid of it, in millionths, rounded up once to a whole nano-dollar. */
export function costOf(usage: UsageCounts, price: PriceRates, paid: PriceFactor = null): Nano {
  const fixed =
    fixedPart(usage.calls, usage.audioMilliseconds, price) +
    usesPart(usage.uses, price) +
    imagesPart(usage.images, price);
  let cost = 0n;
  for (const modes of modesServed(price, usage.modes)) {
    const { factor, scale } = multipliers(modes);
    let sum = tokensPart(usage, ratesIn(price, modes));
    for (const part of usage.parts ?? []) sum += tokensPart(part, ratesOfPart(part, price, modes));
    const tokens = sum * TOKEN_WEIGHT * factor;
    const exact = tokens + fixed * scale;
    const total =
      paid === null
        ? roundUp(exact, SCALE * scale)
        : roundUp(exact * BigInt(paid), SCALE * scale * UNCHANGED);
    if (total > cost) cost = total;
  }
  return cost;
}

/** Rates of the modes' own stand in for those of the price; of several the dearest counts. */
function ratesIn(price: PriceRates, modes: ModeSet): readonly TokenRates[] {
  if (modes.length === 0) return [price];
  const own = modes.flatMap(({ rates }) => (rates === null ? [] : [rates]));
  return own.length === 0 ? [price] : own;
}

/** An advisor without a price costs as much as the dearest model of the price. */
function ratesOfPart(
  { model }: Pick<UsagePart, 'model'>,
  price: PriceRates,
  modes: ModeSet,
): readonly TokenRates[] {
  if (model === null) return ratesIn(price, modes);
  const own = advisorRates(price, model);
  return own === undefined ? [...ratesIn(price, modes), ...allAdvisorRates(price)] : [own];
}

function multipliers(modes: ModeSet): { factor: bigint; scale: bigint } {
  let factor = 1n;
  let scale = 1n;
  for (const { multiplier } of modes) {
    if (multiplier === UNCHANGED) continue;
    factor *= multiplier;
    scale *= UNCHANGED;
  }
  return { factor, scale };
}

type BucketCounts = Readonly<Partial<Record<UsageBucket, number>>>;

function tokensPart(usage: BucketCounts, from: readonly TokenRates[]): bigint {
  let prompt = 0;
  for (const bucket of INPUT_BUCKETS) prompt += usage[bucket] ?? 0;
  const steps = from.map((rates) => stepFor(rates, prompt).rates);
  let sum = 0n;
  for (const bucket of USAGE_BUCKETS) {
    const count = usage[bucket];
    if (count === undefined || count <= 0) continue;
    let rate = 0n;
    for (const rates of steps) if (rates[bucket] > rate) rate = rates[bucket];
    sum += BigInt(count) * rate;
  }
  return sum;
}

function usesPart(uses: UseCounts | null, price: PriceRates): bigint {
  let sum = 0n;
  if (uses !== null) {
    for (const [name, count] of Object.entries(uses) as [UseName, number][])
      sum += BigInt(count) * chargedUseRate(price, name);
  }
  return sum * SCALE;
}

function imagesPart(images: UsageCounts['images'], price: PriceRates): bigint {
  let sum = 0n;
  if (images !== null) {
    for (const [key, count] of Object.entries(images)) sum += BigInt(count) * chargedImageRate(price, key);
  }
  return sum * SCALE;
}

/** A request may use at most this, as far as it is known before it is sent. */
export interface RequestBound {
  readonly inputTokens: number;
  readonly calls?: number;
  readonly audioMilliseconds?: number;
  /** The bound beside tokens counts the most uses, every mode that may serve it, and the dearest picture. */
  readonly fees?: AskedFees;
  /** Work beside the answer that is billed by tokens as well. */
  readonly parts?: readonly PartBound[];
}

export interface PartBound {
  /** The supplier's name of the model that does it; null: the model of the request. */
  readonly model: string | null;
  readonly times: number;
  /** The counts are the most of each time. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * The most that a request within the bound can cost on any of these prices: every token at its dearest rate, in the
 * dearest mode. No usage within the bound costs more.
 */
export function boundOf(
  bound: RequestBound & { readonly maxOutputTokens: number },
  prices: readonly PriceRates[],
  paid: PriceFactor = null,
): Nano {
  let dearest = 0n;
  for (const price of prices) {
    for (const { fixed, perOutputToken, scale } of dearestWithin(bound, price, paid)) {
      const total = roundUp(fixed + perOutputToken * BigInt(bound.maxOutputTokens), scale);
      if (total > dearest) dearest = total;
    }
  }
  return dearest;
}

/**
 * The dearest of these prices lets `nano` pay for so many output tokens: the largest number within it. It is
 * null when not even the input fits.
 */
export function outputThatFits(
  nano: Nano,
  bound: RequestBound,
  prices: readonly PriceRates[],
  paid: PriceFactor = null,
): number | null {
  let fits = BigInt(COUNT_CAP);
  for (const price of prices) {
    for (const { fixed, perOutputToken, scale } of dearestWithin(bound, price, paid)) {
      const left = nano * scale - fixed;
      if (left < 0n) return null;
      if (perOutputToken > 0n && left / perOutputToken < fits) fits = left / perOutputToken;
    }
  }
  return Number(fits);
}

/** Its amounts are nano-USD times `scale`. */
interface Line {
  readonly fixed: bigint;
  readonly perOutputToken: bigint;
  readonly scale: bigint;
}

/** One line for every set of modes that may serve the request. */
function dearestWithin(bound: RequestBound, price: PriceRates, paid: PriceFactor): Line[] {
  const { inputTokens, calls = 1, audioMilliseconds = 0, fees = NOTHING_ASKED } = bound;
  const images = fees.image === null ? null : { [fees.image]: calls };
  const fixed =
    fixedPart(calls, audioMilliseconds, price) + usesPart(fees.uses, price) + imagesPart(images, price);
  return modesPossible(price, fees.modes).map((modes) => {
    const { factor, scale } = multipliers(modes);
    let input = 0n;
    let output = 0n;
    for (const rates of ratesIn(price, modes)) {
      const { dearestInput, dearestOutput } = stepFor(rates, inputTokens);
      if (dearestInput > input) input = dearestInput;
      if (dearestOutput > output) output = dearestOutput;
    }
    const weight = TOKEN_WEIGHT * factor;
    let tokens = BigInt(inputTokens) * input;
    for (const part of bound.parts ?? []) tokens += dearestPart(part, ratesOfPart(part, price, modes));
    const line = {
      fixed: tokens * weight + fixed * scale,
      perOutputToken: output * weight,
      scale: SCALE * scale,
    };
    return paid === null ? line : timesPaid(line, BigInt(paid));
  });
}

function dearestPart({ times, inputTokens, outputTokens }: PartBound, from: readonly TokenRates[]): bigint {
  let input = 0n;
  let output = 0n;
  for (const rates of from) {
    const { dearestInput, dearestOutput } = stepFor(rates, inputTokens);
    if (dearestInput > input) input = dearestInput;
    if (dearestOutput > output) output = dearestOutput;
  }
  return BigInt(times) * (BigInt(inputTokens) * input + BigInt(outputTokens) * output);
}

const timesPaid = ({ fixed, perOutputToken, scale }: Line, paid: bigint): Line => ({
  fixed: fixed * paid,
  perOutputToken: perOutputToken * paid,
  scale: scale * UNCHANGED,
});

function fixedPart(calls: number, audioMilliseconds: number, price: PriceRates): bigint {
  return (
    BigInt(calls) * price.perCallNano * SCALE +
    BigInt(audioMilliseconds) * price.perMinuteNano * MILLISECOND_WEIGHT
  );
}

function roundUp(scaled: bigint, scale: bigint): Nano {
  return (scaled + scale - 1n) / scale;
}
