import { fault } from '../errors';
import {
  INPUT_BUCKETS,
  ADVISOR,
  RATE_FIELDS,
  OUTPUT_BUCKETS,
  USE_NAMES,
  type UsageBucket,
  type UseName,
} from '../usage';
import { type BucketRates, FLAT_RATES, type FlatRates, TOKEN_RATES, type TokenRateName } from './rate-table';

/**
 * Applies to the entire request once it exceeds this many input tokens. A null rate falls back to the next lower tier.
 */
type PriceTier = Readonly<Record<TokenRateName, bigint | null>> & { readonly aboveInputTokens: number };

export interface TokenRates extends BucketRates {
  /** In ascending order of threshold. */
  readonly tiers: readonly PriceTier[];
}

/** A service tier, speed or inference region: multiplies the token rates, or has rates of its own. */
export interface PriceMode {
  /** In millionths: 1,000,000 leaves the rates unchanged. */
  readonly multiplier: bigint;
  readonly rates: TokenRates | null;
}

export interface PriceRates extends TokenRates, FlatRates {
  /** Rates per use of a supplier's own tool. */
  readonly uses: Readonly<Partial<Record<UseName, bigint>>>;
  /** Keyed by field and value, such as `service_tier=flex`. */
  readonly modes: Readonly<Record<string, PriceMode>>;
  /** Rates per image, by quality and size (`hd/1024x1792`) or by one of them. */
  readonly images: Readonly<Record<string, bigint>>;
}

/** Rates of a price that lists no tokens. */
const FREE = Object.fromEntries(
  TOKEN_RATES.map(({ name, fallback }) => [name, fallback === null ? 0n : null]),
) as unknown as BucketRates;
/** A tier inherits omitted rates from below. */
const INHERITED = Object.fromEntries(TOKEN_RATES.map(({ name }) => [name, null])) as Record<
  TokenRateName,
  null
>;

/** Neutral multiplier, in millionths. */
export const UNCHANGED = 1_000_000n;

type TierInput = Partial<PriceTier> & { readonly aboveInputTokens: number };
type TokenRatesInput = Partial<Omit<TokenRates, 'tiers'>> & { readonly tiers?: readonly TierInput[] };
interface ModeInput {
  readonly multiplier?: bigint;
  readonly rates?: TokenRatesInput | null;
}

export function priceRates(
  input: Partial<Omit<PriceRates, 'tiers' | 'modes'>> & {
    readonly tiers?: readonly TierInput[];
    readonly modes?: Readonly<Record<string, ModeInput>>;
  },
): PriceRates {
  const { uses = {}, modes = {}, images = {}, ...rates } = input;
  const complete: PriceRates = {
    ...tokenRates(rates),
    ...flatRates(rates),
    uses: Object.freeze({ ...uses }),
    modes: Object.freeze(
      Object.fromEntries(
        Object.entries(modes).map(([name, mode]) => [
          name,
          Object.freeze({
            multiplier: mode.multiplier ?? UNCHANGED,
            rates: mode.rates ? tokenRates(mode.rates) : null,
          }),
        ]),
      ),
    ),
    images: Object.freeze({ ...images }),
  };
  assertRates(complete);
  return Object.freeze(complete);
}

const flatRates = (input: Partial<FlatRates>): FlatRates =>
  Object.fromEntries(FLAT_RATES.map(({ name }) => [name, input[name] ?? 0n])) as unknown as FlatRates;

function tokenRates({ tiers = [], ...input }: TokenRatesInput): TokenRates {
  return {
    ...FREE,
    ...input,
    tiers: Object.freeze(tiers.map((tier) => Object.freeze({ ...INHERITED, ...tier }))),
  };
}

/** The rate of every bucket, fallbacks resolved. */
export type ResolvedRates = Readonly<Record<UsageBucket, bigint>>;

const bucketOf = new Map<string, UsageBucket>(TOKEN_RATES.map(({ name, bucket }) => [name, bucket]));

export function resolveRates(rates: BucketRates): ResolvedRates {
  const resolved: Partial<Record<UsageBucket, bigint>> = {};
  for (const { name, bucket, fallback } of TOKEN_RATES) {
    const fallbackBucket = bucketOf.get(fallback ?? name) ?? bucket;
    resolved[bucket] = rates[name] ?? resolved[fallbackBucket] ?? 0n;
  }
  return resolved as ResolvedRates;
}

export interface RateStep {
  /** Applies above this many input tokens; -1 for the base, which always applies. */
  readonly above: number;
  readonly rates: ResolvedRates;
  /** Highest rate so far of any input token and of any output token. */
  readonly dearestInput: bigint;
  readonly dearestOutput: bigint;
}

const cachedSteps = new WeakMap<TokenRates, readonly RateStep[]>();

/** The base and its tiers by ascending threshold, fallbacks resolved; cached per price. */
function rateSteps(price: TokenRates): readonly RateStep[] {
  const cached = cachedSteps.get(price);
  if (cached !== undefined) return cached;
  let current: BucketRates = price;
  const steps = [stepOf(-1, current, null)];
  for (const tier of price.tiers) {
    current = overlay(current, tier);
    steps.push(stepOf(tier.aboveInputTokens, current, steps.at(-1)!));
  }
  cachedSteps.set(price, steps);
  return steps;
}

/** Returns the highest step that this number of input tokens reaches. */
export function stepFor(price: TokenRates, inputTokens: number): RateStep {
  const steps = rateSteps(price);
  for (let index = steps.length - 1; index > 0; index -= 1) {
    const step = steps[index];
    if (step !== undefined && inputTokens > step.above) return step;
  }
  const [base] = steps;
  if (base === undefined) throw new Error('a price always has a base');
  return base;
}

function stepOf(above: number, ofBuckets: BucketRates, below: RateStep | null): RateStep {
  const rates = resolveRates(ofBuckets);
  return {
    above,
    rates,
    dearestInput: highestRate(INPUT_BUCKETS, rates, below?.dearestInput ?? 0n),
    dearestOutput: highestRate(OUTPUT_BUCKETS, rates, below?.dearestOutput ?? 0n),
  };
}

/** Returns the highest of these rates, or `start` if none is higher. */
function highestRate(buckets: readonly UsageBucket[], rates: ResolvedRates, start: bigint): bigint {
  let highest = start;
  for (const bucket of buckets) if (rates[bucket] > highest) highest = rates[bucket];
  return highest;
}

const overlay = (base: BucketRates, tier: PriceTier): BucketRates =>
  Object.fromEntries(
    TOKEN_RATES.map(({ name }) => [name, tier[name] ?? base[name]]),
  ) as unknown as BucketRates;

/** A dollar per token, a million per call: higher values are unit mistakes, and any cost fits `bigint`. */
const RATE_CAP = 1_000_000_000_000_000n;
/** A multiplier above 100 is a mistake as well. */
const MULTIPLIER_CAP = 100n * UNCHANGED;
const modeNames = new RegExp(`^(?:${RATE_FIELDS.join('|')})=[a-z0-9][a-z0-9_.-]{0,39}$`);
const imageName = /^[a-z0-9][a-z0-9_.-]{0,39}(?:\/[a-z0-9][a-z0-9_.-]{0,39})?$/;
const useNames: ReadonlySet<string> = new Set(USE_NAMES);

/**
 * Rejects negative and absurd rates, invalid names, non-ascending thresholds, and tiers cheaper than the one below.
 * Longer requests must never cost less, or a hold could not be sized.
 */
function assertRates(price: PriceRates): void {
  assertTokenRates(price);
  for (const { name } of FLAT_RATES) assertRate(name, price[name]);
  for (const [name, rate] of Object.entries(price.uses)) {
    if (!useNames.has(name)) throw invalidPrice('uses', `"${name}" is none of ${USE_NAMES.join(', ')}.`);
    assertRate(name, rate);
  }
  for (const [name, rate] of Object.entries(price.images)) {
    if (!imageName.test(name)) {
      throw invalidPrice('images', `"${name}" is no quality and size of a picture, like hd/1024x1792.`);
    }
    assertRate(name, rate);
  }
  for (const [name, { multiplier, rates }] of Object.entries(price.modes)) {
    if (!modeNames.test(name))
      throw invalidPrice('modes', `"${name}" is no ${RATE_FIELDS.join(', ')} and its value.`);
    if (name.startsWith(`${ADVISOR}=`) && rates === null)
      throw invalidPrice('modes', `${name} has no rates: the tokens of another model cost what it costs.`);
    if (multiplier < 0n || multiplier > MULTIPLIER_CAP) {
      throw invalidPrice('modes', `The multiplier of ${name} is negative or above 100.`);
    }
    if (rates !== null) assertTokenRates(rates);
  }
}

function assertTokenRates(price: TokenRates): void {
  for (const rates of [price, ...price.tiers]) {
    for (const { name } of TOKEN_RATES) assertRate(name, rates[name]);
  }
  const steps = rateSteps(price);
  steps.forEach((step, index) => {
    const below = steps[index - 1];
    if (below === undefined) return;
    if (!Number.isSafeInteger(step.above) || step.above <= Math.max(0, below.above)) {
      throw invalidPrice(
        'tiers',
        'Each tier has to begin above a higher number of input tokens than the one before.',
      );
    }
    for (const bucket of Object.keys(step.rates) as UsageBucket[]) {
      if (step.rates[bucket] < below.rates[bucket]) {
        throw invalidPrice(
          'tiers',
          `Above ${step.above} input tokens ${bucket} would be cheaper than below.`,
        );
      }
    }
  });
}

function assertRate(name: string, rate: bigint | null): void {
  if (rate === null || (rate >= 0n && rate <= RATE_CAP)) return;
  throw invalidPrice(name, `The rate "${name}" is negative or absurdly high.`);
}

function invalidPrice(param: string, message: string): Error {
  return fault('validation_error', { param, message });
}
