import { fault } from '../errors';
import { INPUT_BUCKETS, OUTPUT_BUCKETS, type UsageBucket } from '../usage';

/**
 * Nano-USD for a million tokens of each bucket. A bucket without a rate of its own costs what its token would
 * have cost otherwise: cached, audio and image input the input rate, reasoning and audio output the output
 * rate, a long cache write the cache write rate.
 */
export interface BucketRates {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint | null;
  readonly cacheWrite: bigint | null;
  readonly cacheWriteLong: bigint | null;
  readonly reasoning: bigint | null;
  readonly audioInput: bigint | null;
  readonly audioOutput: bigint | null;
  readonly image: bigint | null;
}

/** Rates of the whole request once more than so many tokens went in; null keeps the rate below the tier. */
export type PriceTier = { readonly [Rate in keyof BucketRates]: bigint | null } & {
  readonly aboveInputTokens: number;
};

export interface PriceRates extends BucketRates {
  readonly perCallNano: bigint;
  /** Per minute of audio, charged by the millisecond. */
  readonly perMinuteNano: bigint;
  /** By rising threshold. */
  readonly tiers: readonly PriceTier[];
}

export const RATE_NAMES = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
  'cacheWriteLong',
  'reasoning',
  'audioInput',
  'audioOutput',
  'image',
] as const satisfies readonly (keyof BucketRates)[];

const NO_RATES = {
  cacheRead: null,
  cacheWrite: null,
  cacheWriteLong: null,
  reasoning: null,
  audioInput: null,
  audioOutput: null,
  image: null,
};

/** Fills in what was left out and checks the whole. */
export function priceRates(
  rates: Partial<Omit<PriceRates, 'tiers'>> & {
    readonly tiers?: readonly (Partial<PriceTier> & { readonly aboveInputTokens: number })[];
  },
): PriceRates {
  const { tiers = [], ...given } = rates;
  const complete: PriceRates = {
    input: 0n,
    output: 0n,
    perCallNano: 0n,
    perMinuteNano: 0n,
    ...NO_RATES,
    ...given,
    tiers: tiers.map((tier) => Object.freeze({ input: null, output: null, ...NO_RATES, ...tier })),
  };
  Object.freeze(complete.tiers);
  assertRates(complete);
  return Object.freeze(complete);
}

/** The rate of every bucket, fallbacks resolved. */
export type ResolvedRates = Readonly<Record<UsageBucket, bigint>>;

export function resolveRates(rates: BucketRates): ResolvedRates {
  const cacheWrite = rates.cacheWrite ?? rates.input;
  return {
    inputTokens: rates.input,
    cacheReadTokens: rates.cacheRead ?? rates.input,
    cacheWriteTokens: cacheWrite,
    cacheWriteLongTokens: rates.cacheWriteLong ?? cacheWrite,
    outputTokens: rates.output,
    reasoningTokens: rates.reasoning ?? rates.output,
    audioInputTokens: rates.audioInput ?? rates.input,
    audioOutputTokens: rates.audioOutput ?? rates.output,
    imageTokens: rates.image ?? rates.input,
  };
}

export interface RateStep {
  /** In force once more than this many tokens went in; -1 is the base, in force always. */
  readonly above: number;
  readonly rates: ResolvedRates;
  /** The most that any token can cost so far, of those that go in and of those that come out. */
  readonly dearestInput: bigint;
  readonly dearestOutput: bigint;
}

const steps = new WeakMap<PriceRates, readonly RateStep[]>();

/** The base and its tiers by rising threshold, fallbacks resolved; worked out once for each price. */
export function rateSteps(price: PriceRates): readonly RateStep[] {
  const known = steps.get(price);
  if (known !== undefined) return known;
  let current: BucketRates = price;
  const made = [stepOf(-1, current, null)];
  for (const tier of price.tiers) {
    current = overlay(current, tier);
    made.push(stepOf(tier.aboveInputTokens, current, made.at(-1)!));
  }
  steps.set(price, made);
  return made;
}

function stepOf(above: number, ofBuckets: BucketRates, below: RateStep | null): RateStep {
  const rates = resolveRates(ofBuckets);
  return {
    above,
    rates,
    dearestInput: dearestOf(INPUT_BUCKETS, rates, below?.dearestInput ?? 0n),
    dearestOutput: dearestOf(OUTPUT_BUCKETS, rates, below?.dearestOutput ?? 0n),
  };
}

/** The highest of these rates, or `start` where none is higher. */
function dearestOf(buckets: readonly UsageBucket[], rates: ResolvedRates, start: bigint): bigint {
  let highest = start;
  for (const bucket of buckets) if (rates[bucket] > highest) highest = rates[bucket];
  return highest;
}

function overlay(base: BucketRates, tier: PriceTier): BucketRates {
  return {
    input: tier.input ?? base.input,
    output: tier.output ?? base.output,
    cacheRead: tier.cacheRead ?? base.cacheRead,
    cacheWrite: tier.cacheWrite ?? base.cacheWrite,
    cacheWriteLong: tier.cacheWriteLong ?? base.cacheWriteLong,
    reasoning: tier.reasoning ?? base.reasoning,
    audioInput: tier.audioInput ?? base.audioInput,
    audioOutput: tier.audioOutput ?? base.audioOutput,
    image: tier.image ?? base.image,
  };
}

/** A dollar for a single token, a million for a call: more is a slip of the unit, and any cost fits `bigint`. */
const RATE_CAP = 1_000_000_000_000_000n;

/**
 * Refuses negative and absurd rates, thresholds that do not rise, and a tier cheaper than the one below it: a
 * longer request must never cost less than a shorter one, or a hold could not be sized.
 */
export function assertRates(price: PriceRates): void {
  for (const rates of [price, ...price.tiers]) {
    for (const name of RATE_NAMES) assertRate(name, rates[name]);
  }
  assertRate('perCallNano', price.perCallNano);
  assertRate('perMinuteNano', price.perMinuteNano);
  const made = rateSteps(price);
  made.forEach((step, index) => {
    const below = made[index - 1];
    if (below === undefined) return;
    if (!Number.isSafeInteger(step.above) || step.above <= Math.max(0, below.above)) {
      throw refused(
        'tiers',
        'Each tier has to begin above a higher number of input tokens than the one before.',
      );
    }
    for (const bucket of Object.keys(step.rates) as UsageBucket[]) {
      if (step.rates[bucket] < below.rates[bucket]) {
        throw refused('tiers', `Above ${step.above} input tokens ${bucket} would be cheaper than below.`);
      }
    }
  });
}

function assertRate(name: string, rate: bigint | null): void {
  if (rate === null || (rate >= 0n && rate <= RATE_CAP)) return;
  throw refused(name, `The rate "${name}" is negative or absurdly high.`);
}

function refused(param: string, message: string): Error {
  return fault('validation_error', { param, message });
}
