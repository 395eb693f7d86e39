import type { Nano } from '../money';
import {
  type RequestedFees,
  COUNT_CAP,
  INPUT_BUCKETS,
  NO_REQUESTED_FEES,
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
  possibleModeSets,
  servedModeSets,
} from './fee-rates';
import { type PriceRates, stepFor, type TokenRates, UNCHANGED } from './rates';

/**
 * Tokens are priced per million, audio per minute (60,000 ms); both divide 3,000,000. Sums are nano-USD times that, and
 * are divided once at the end.
 */
const SCALE = 3_000_000n;
const TOKEN_WEIGHT = 3n;
const MILLISECOND_WEIGHT = 50n;

/** Share of a price that a payer is charged, in millionths; null for the full price. */
export type PriceFactor = number | null;

/** Exact price times the payer's share, rounded up once to a nano-dollar. */
export function costOf(usage: UsageCounts, price: PriceRates, priceFactor: PriceFactor = null): Nano {
  const fixed =
    fixedPart(usage.calls, usage.audioMilliseconds, price) +
    usesPart(usage.uses, price) +
    imagesPart(usage.images, price);
  let cost = 0n;
  for (const modes of servedModeSets(price, usage.modes)) {
    const { factor, scale } = multipliers(modes);
    let sum = tokensPart(usage, ratesIn(price, modes));
    for (const part of usage.parts ?? []) sum += tokensPart(part, ratesOfPart(part, price, modes));
    const tokens = sum * TOKEN_WEIGHT * factor;
    const exact = tokens + fixed * scale;
    const total =
      priceFactor === null
        ? roundUp(exact, SCALE * scale)
        : roundUp(exact * BigInt(priceFactor), SCALE * scale * UNCHANGED);
    if (total > cost) cost = total;
  }
  return cost;
}

/** Rates of the modes replace those of the price; the highest of several counts. */
function ratesIn(price: PriceRates, modes: ModeSet): readonly TokenRates[] {
  if (modes.length === 0) return [price];
  const modeRates = modes.flatMap(({ rates }) => (rates === null ? [] : [rates]));
  return modeRates.length === 0 ? [price] : modeRates;
}

/** An advisor model without its own rates is charged at the highest rates of this price. */
function ratesOfPart(
  { model }: Pick<UsagePart, 'model'>,
  price: PriceRates,
  modes: ModeSet,
): readonly TokenRates[] {
  if (model === null) return ratesIn(price, modes);
  const modelRates = advisorRates(price, model);
  return modelRates === undefined ? [...ratesIn(price, modes), ...allAdvisorRates(price)] : [modelRates];
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

/** Upper bound of a request's usage, as far as it is known before sending. */
export interface RequestBound {
  readonly inputTokens: number;
  readonly calls?: number;
  readonly audioMilliseconds?: number;
  /** Maximum uses, every mode that might serve the request, and the most expensive image. */
  readonly fees?: RequestedFees;
  /** Additional work that is billed by tokens as well. */
  readonly parts?: readonly PartBound[];
}

export interface PartBound {
  /** Supplier's name of the model; null for the requested model. */
  readonly model: string | null;
  readonly times: number;
  /** Maximum counts of each time. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Maximum cost of a request within the bound on any of these prices. No usage within the bound costs more. */
export function maxCostOf(
  bound: RequestBound & { readonly maxOutputTokens: number },
  prices: readonly PriceRates[],
  priceFactor: PriceFactor = null,
): Nano {
  let maxCost = 0n;
  for (const price of prices) {
    for (const { fixed, perOutputToken, scale } of maxCostLines(bound, price, priceFactor)) {
      const total = roundUp(fixed + perOutputToken * BigInt(bound.maxOutputTokens), scale);
      if (total > maxCost) maxCost = total;
    }
  }
  return maxCost;
}

/**
 * Maximum number of output tokens that `nano` pays for at the most expensive price; null if not even the input fits.
 */
export function maxAffordableOutput(
  nano: Nano,
  bound: RequestBound,
  prices: readonly PriceRates[],
  priceFactor: PriceFactor = null,
): number | null {
  let fits = BigInt(COUNT_CAP);
  for (const price of prices) {
    for (const { fixed, perOutputToken, scale } of maxCostLines(bound, price, priceFactor)) {
      const remaining = nano * scale - fixed;
      if (remaining < 0n) return null;
      if (perOutputToken > 0n && remaining / perOutputToken < fits) fits = remaining / perOutputToken;
    }
  }
  return Number(fits);
}

interface CostLine {
  readonly fixed: bigint;
  readonly perOutputToken: bigint;
  readonly scale: bigint;
}

/** Returns a line for every set of modes that might serve the request. */
function maxCostLines(bound: RequestBound, price: PriceRates, priceFactor: PriceFactor): CostLine[] {
  const { inputTokens, calls = 1, audioMilliseconds = 0, fees = NO_REQUESTED_FEES } = bound;
  const images = fees.image === null ? null : { [fees.image]: calls };
  const fixed =
    fixedPart(calls, audioMilliseconds, price) + usesPart(fees.uses, price) + imagesPart(images, price);
  return possibleModeSets(price, fees.modes).map((modes) => {
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
    for (const part of bound.parts ?? []) tokens += maxPartCost(part, ratesOfPart(part, price, modes));
    const line = {
      fixed: tokens * weight + fixed * scale,
      perOutputToken: output * weight,
      scale: SCALE * scale,
    };
    return priceFactor === null ? line : applyPriceFactor(line, BigInt(priceFactor));
  });
}

function maxPartCost({ times, inputTokens, outputTokens }: PartBound, from: readonly TokenRates[]): bigint {
  let input = 0n;
  let output = 0n;
  for (const rates of from) {
    const { dearestInput, dearestOutput } = stepFor(rates, inputTokens);
    if (dearestInput > input) input = dearestInput;
    if (dearestOutput > output) output = dearestOutput;
  }
  return BigInt(times) * (BigInt(inputTokens) * input + BigInt(outputTokens) * output);
}

const applyPriceFactor = ({ fixed, perOutputToken, scale }: CostLine, priceFactor: bigint): CostLine => ({
  fixed: fixed * priceFactor,
  perOutputToken: perOutputToken * priceFactor,
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
