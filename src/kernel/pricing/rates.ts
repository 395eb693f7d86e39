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

/** Rates of the whole request once more than so many tokens went in; null keeps the rate below the tier. */
type PriceTier = Readonly<Record<TokenRateName, bigint | null>> & { readonly aboveInputTokens: number };

/** Tokens cost these rates, long requests apart. */
export interface TokenRates extends BucketRates {
  /** By rising threshold. */
  readonly tiers: readonly PriceTier[];
}

/** A service tier, a speed or a place of inference: multiplies what tokens cost, or has rates of its own. */
export interface PriceMode {
  /** It is in millionths: 1,000,000 leaves the rates as they are. */
  readonly multiplier: bigint;
  readonly rates: TokenRates | null;
}

export interface PriceRates extends TokenRates, FlatRates {
  /** For one use of a supplier's own tool. */
  readonly uses: Readonly<Partial<Record<UseName, bigint>>>;
  /** The key is a field and its value, such as `service_tier=flex`. */
  readonly modes: Readonly<Record<string, PriceMode>>;
  /** Rates are for one picture, by quality and size, `hd/1024x1792`, or by one of them. */
  readonly images: Readonly<Record<string, bigint>>;
}

/** These rates apply where a price says nothing of tokens. */
const FREE = Object.fromEntries(
  TOKEN_RATES.map(({ name, fallback }) => [name, fallback === null ? 0n : null]),
) as unknown as BucketRates;
/** A tier that says nothing has the rates below it. */
const AS_BELOW = Object.fromEntries(TOKEN_RATES.map(({ name }) => [name, null])) as Record<
  TokenRateName,
  null
>;

/** A multiplier that changes nothing. */
export const UNCHANGED = 1_000_000n;

type GivenTier = Partial<PriceTier> & { readonly aboveInputTokens: number };
type GivenTokenRates = Partial<Omit<TokenRates, 'tiers'>> & { readonly tiers?: readonly GivenTier[] };
interface GivenMode {
  readonly multiplier?: bigint;
  readonly rates?: GivenTokenRates | null;
}

/** Fills in what was left out and checks the whole. */
export function priceRates(
  given: Partial<Omit<PriceRates, 'tiers' | 'modes'>> & {
    readonly tiers?: readonly GivenTier[];
    readonly modes?: Readonly<Record<string, GivenMode>>;
  },
): PriceRates {
  const { uses = {}, modes = {}, images = {}, ...rates } = given;
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

const flatRates = (given: Partial<FlatRates>): FlatRates =>
  Object.fromEntries(FLAT_RATES.map(({ name }) => [name, given[name] ?? 0n])) as unknown as FlatRates;

function tokenRates({ tiers = [], ...given }: GivenTokenRates): TokenRates {
  return {
    ...FREE,
    ...given,
    tiers: Object.freeze(tiers.map((tier) => Object.freeze({ ...AS_BELOW, ...tier }))),
  };
}

/** The rate of every bucket, fallbacks resolved. */
export type ResolvedRates = Readonly<Record<UsageBucket, bigint>>;

const bucketOf = new Map<string, UsageBucket>(TOKEN_RATES.map(({ name, bucket }) => [name, bucket]));

export function resolveRates(rates: BucketRates): ResolvedRates {
  const resolved: Partial<Record<UsageBucket, bigint>> = {};
  for (const { name, bucket, fallback } of TOKEN_RATES) {
    const instead = bucketOf.get(fallback ?? name) ?? bucket;
    resolved[bucket] = rates[name] ?? resolved[instead] ?? 0n;
  }
  return resolved as ResolvedRates;
}

export interface RateStep {
  /** They are in force once more than this many tokens went in; -1 is the base, in force always. */
  readonly above: number;
  readonly rates: ResolvedRates;
  /** The most that any token can cost so far, of those that go in and of those that come out. */
  readonly dearestInput: bigint;
  readonly dearestOutput: bigint;
}

const steps = new WeakMap<TokenRates, readonly RateStep[]>();

/** The base and its tiers by rising threshold, fallbacks resolved; worked out once for each price. */
function rateSteps(price: TokenRates): readonly RateStep[] {
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

/** The highest step that so many input tokens reach. */
export function stepFor(price: TokenRates, inputTokens: number): RateStep {
  const made = rateSteps(price);
  for (let index = made.length - 1; index > 0; index -= 1) {
    const step = made[index];
    if (step !== undefined && inputTokens > step.above) return step;
  }
  const [base] = made;
  if (base === undefined) throw new Error('a price always has a base');
  return base;
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

const overlay = (base: BucketRates, tier: PriceTier): BucketRates =>
  Object.fromEntries(
    TOKEN_RATES.map(({ name }) => [name, tier[name] ?? base[name]]),
  ) as unknown as BucketRates;

/** A dollar for a single token, a million for a call: more is a slip of the unit, and any cost fits `bigint`. */
const RATE_CAP = 1_000_000_000_000_000n;
/** A hundred times the usual price is a slip as well. */
const MULTIPLIER_CAP = 100n * UNCHANGED;
const modeNames = new RegExp(`^(?:${RATE_FIELDS.join('|')})=[a-z0-9][a-z0-9_.-]{0,39}$`);
const imageName = /^[a-z0-9][a-z0-9_.-]{0,39}(?:\/[a-z0-9][a-z0-9_.-]{0,39})?$/;
const useNames: ReadonlySet<string> = new Set(USE_NAMES);

/**
 * Refuses negative and absurd rates, impossible names, thresholds that do not rise, and a tier cheaper than the one
 * below. A longer request must never cost less, or a hold could not be sized.
 */
function assertRates(price: PriceRates): void {
  assertTokenRates(price);
  for (const { name } of FLAT_RATES) assertRate(name, price[name]);
  for (const [name, rate] of Object.entries(price.uses)) {
    if (!useNames.has(name)) throw refused('uses', `"${name}" is none of ${USE_NAMES.join(', ')}.`);
    assertRate(name, rate);
  }
  for (const [name, rate] of Object.entries(price.images)) {
    if (!imageName.test(name)) {
      throw refused('images', `"${name}" is no quality and size of a picture, like hd/1024x1792.`);
    }
    assertRate(name, rate);
  }
  for (const [name, { multiplier, rates }] of Object.entries(price.modes)) {
    if (!modeNames.test(name))
      throw refused('modes', `"${name}" is no ${RATE_FIELDS.join(', ')} and its value.`);
    if (name.startsWith(`${ADVISOR}=`) && rates === null)
      throw refused('modes', `${name} has no rates: the tokens of another model cost what it costs.`);
    if (multiplier < 0n || multiplier > MULTIPLIER_CAP) {
      throw refused('modes', `The multiplier of ${name} is negative or above 100.`);
    }
    if (rates !== null) assertTokenRates(rates);
  }
}

function assertTokenRates(price: TokenRates): void {
  for (const rates of [price, ...price.tiers]) {
    for (const { name } of TOKEN_RATES) assertRate(name, rates[name]);
  }
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
