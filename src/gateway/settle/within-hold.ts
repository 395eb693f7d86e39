import {
  costOf,
  INPUT_BUCKETS,
  type Nano,
  OUTPUT_BUCKETS,
  type PriceRates,
  stepFor,
  totalTokens,
  type Usage,
  type UsageBucket,
  type UseCounts,
  type UseName,
} from '../../kernel';
import { FAMILIES } from '../../protocol';
import type { LaneTry } from '../attempt';
import type { Call } from '../intake';

/**
 * Keeps usage within what was requested and, if the report is doubtful, within the hold. What is left out is the
 * excess: recorded for an operator, and not charged. Nearly every report returns unchanged.
 */
export function withinHold(usage: Usage, { routed, route }: Pick<LaneTry, 'routed' | 'route'>): Usage {
  const { call, held } = routed;
  const requested = usage.uses === null && usage.calls <= call.calls ? usage : withinRequest(usage, call);
  const isSound = requested.doubt === undefined && requested.ignored === undefined;
  const isBeyond = isSound && call.measure !== null && totalTokens(requested) > held.tokens;
  const checked = isBeyond ? { ...requested, doubt: 'more tokens than were held for' } : requested;
  if (isSound && checked.uses === null) return checked;
  const fitting = new Fitting(route.price.rates, call.inbound.priceFactor, held.hold.amount);
  const charged = fitting.usesOf(checked, call);
  if (isSound || fitting.fits(charged)) return charged;
  const bounds = { input: held.inputBound, output: held.tokens - held.inputBound };
  return fitting.tokensOf(charged, { ...bounds, input: Math.max(bounds.input, call.inputEstimate) });
}

/** Calls and uses beyond those that the request allows. */
function withinRequest(usage: Usage, call: Call): Usage {
  const excess: Record<string, number> = {};
  const calls = Math.min(usage.calls, call.calls);
  if (calls < usage.calls) excess['calls'] = usage.calls - calls;
  const uses = usage.uses === null ? null : usesWithin(usage.uses, requestedUses(call), excess);
  const images =
    calls < usage.calls && usage.images !== null ? imagesWithin(usage.images, calls) : usage.images;
  return withExcess({ ...usage, calls, uses, images }, excess);
}

/** On a route that forwards requests unchanged, the supplier is given no limit. */
const requestedUses = ({ operation, fees }: Call): UseCounts =>
  operation.untouched === true ? NOTHING : fees.uses;
const NOTHING: UseCounts = Object.freeze({});

const familyOf = (name: UseName): readonly UseName[] =>
  FAMILIES.find((names) => names.includes(name)) ?? [name];

/** The most uses of a kind; undefined if the request did not ask for it, but its supplier may use it unasked. */
function limitOf(name: UseName, requested: UseCounts): number | undefined {
  let limit: number | undefined;
  for (const one of familyOf(name)) {
    const count = requested[one];
    if (count !== undefined) limit = (limit ?? 0) + count;
  }
  return limit;
}

function usesWithin(uses: UseCounts, requested: UseCounts, excess: Record<string, number>): UseCounts {
  const kept: Partial<Record<UseName, number>> = {};
  for (const [name, count] of Object.entries(uses) as [UseName, number][]) {
    const limit = limitOf(name, requested);
    kept[name] = limit === undefined ? count : Math.min(count, limit);
    if (kept[name] < count) excess[name] = count - kept[name];
  }
  return kept;
}

function imagesWithin(images: Readonly<Record<string, number>>, most: number): Record<string, number> {
  return Object.fromEntries(Object.entries(images).map(([key, count]) => [key, Math.min(count, most)]));
}

function withExcess(usage: Usage, excess: Readonly<Record<string, number>>): Usage {
  if (Object.keys(excess).length === 0) return usage;
  return { ...usage, excess: { ...usage.excess, ...excess } };
}

/** Finds the most usage that a hold pays for. */
class Fitting {
  constructor(
    private readonly rates: PriceRates,
    private readonly priceFactor: number | null,
    private readonly amount: Nano,
  ) {}

  fits(usage: Usage): boolean {
    return costOf(usage, this.rates, this.priceFactor) <= this.amount;
  }

  /** Uses that nobody requested are charged as far as the hold has room for them. */
  usesOf(usage: Usage, call: Call): Usage {
    const { uses } = usage;
    if (uses === null) return usage;
    const requested = requestedUses(call);
    const unasked = (Object.keys(uses) as UseName[]).filter((name) => limitOf(name, requested) === undefined);
    if (unasked.length === 0 || this.fits(usage)) return usage;
    const excess: Record<string, number> = {};
    const asked = Object.entries(uses).filter(([name]) => !unasked.includes(name as UseName));
    let charged: Usage = { ...usage, uses: asked.length === 0 ? null : Object.fromEntries(asked) };
    for (const name of unasked) {
      const count = uses[name] ?? 0;
      const withUses = (most: number): Usage => ({ ...charged, uses: { ...charged.uses, [name]: most } });
      const fitting = this.most(count, withUses);
      if (fitting < count) excess[name] = count - fitting;
      if (fitting > 0) charged = withUses(fitting);
    }
    return withExcess(charged, excess);
  }

  /** Tokens within the bounds of the request, those at the highest rates first. */
  tokensOf(usage: Usage, bounds: { readonly input: number; readonly output: number }): Usage {
    const { rates } = stepFor(this.rates, bounds.input);
    const dearestFirst = (buckets: readonly UsageBucket[]): UsageBucket[] =>
      buckets.toSorted((one, other) => Number(rates[other] - rates[one]));
    const counts: Partial<Record<UsageBucket, number>> = {};
    const sides = [
      [INPUT_BUCKETS, bounds.input],
      [OUTPUT_BUCKETS, bounds.output],
    ] as const;
    for (const [buckets, most] of sides) {
      let left = most;
      for (const bucket of dearestFirst(buckets)) {
        counts[bucket] = Math.min(usage[bucket], left);
        left -= counts[bucket];
      }
    }
    let charged: Usage = { ...usage, ...counts, source: 'estimated' };
    if (!this.fits(charged)) charged = { ...charged, parts: null };
    if (!this.fits(charged)) charged = this.shareOf(charged);
    const excess: Record<string, number> = {};
    for (const [side, buckets] of [
      ['input_tokens', INPUT_BUCKETS],
      ['output_tokens', OUTPUT_BUCKETS],
    ] as const) {
      const left = sumOf(usage, buckets) - sumOf(charged, buckets);
      if (left > 0) excess[side] = left;
    }
    return withExcess(charged, excess);
  }

  /** Last resort, if a supplier served the request at a higher rate than it could expect. */
  private shareOf(usage: Usage): Usage {
    const share = (millionths: number): Usage => {
      const counts: Partial<Record<UsageBucket, number>> = {};
      for (const bucket of [...INPUT_BUCKETS, ...OUTPUT_BUCKETS])
        counts[bucket] = Math.floor((usage[bucket] / 1e6) * millionths);
      return { ...usage, ...counts };
    };
    return share(this.most(1_000_000, share));
  }

  /** The largest number, up to `most`, whose usage the hold pays for. */
  private most(most: number, usageWith: (count: number) => Usage): number {
    if (this.fits(usageWith(most))) return most;
    let [fitting, above] = [0, most];
    while (above - fitting > 1) {
      const middle = Math.floor((fitting + above) / 2);
      if (this.fits(usageWith(middle))) fitting = middle;
      else above = middle;
    }
    return fitting;
  }
}

const sumOf = (usage: Usage, buckets: readonly UsageBucket[]): number =>
  buckets.reduce((sum, bucket) => sum + usage[bucket], 0);
