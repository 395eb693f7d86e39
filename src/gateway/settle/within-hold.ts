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
import type { LaneAttempt } from '../attempt';
import type { GatewayCall } from '../intake';

/**
 * Caps usage by the request and, if the report is doubtful, by the hold. The excess is recorded for the operator and
 * not charged.
 */
export function withinHold(usage: Usage, { routed, route }: Pick<LaneAttempt, 'routed' | 'route'>): Usage {
  const { call, held } = routed;
  const requested = usage.uses === null && usage.calls <= call.calls ? usage : capByRequest(usage, call);
  const isPlausible = requested.doubt === undefined && requested.ignored === undefined;
  const exceedsHold = isPlausible && call.measure !== null && totalTokens(requested) > held.tokens;
  const checked = exceedsHold ? { ...requested, doubt: 'more tokens than were held for' } : requested;
  if (isPlausible && checked.uses === null) return checked;
  const fitter = new HoldFitter(route.price.rates, call.inbound.priceFactor, held.hold.amount);
  const charged = fitter.fitUses(checked, call);
  if (isPlausible || fitter.fits(charged)) return charged;
  const bounds = { input: held.inputBound, output: held.tokens - held.inputBound };
  return fitter.fitTokens(charged, { ...bounds, input: Math.max(bounds.input, call.inputEstimate) });
}

function capByRequest(usage: Usage, call: GatewayCall): Usage {
  const excess: Record<string, number> = {};
  const calls = Math.min(usage.calls, call.calls);
  if (calls < usage.calls) excess['calls'] = usage.calls - calls;
  const uses = usage.uses === null ? null : capUses(usage.uses, requestedUses(call), excess);
  const images = calls < usage.calls && usage.images !== null ? capImages(usage.images, calls) : usage.images;
  return withExcess({ ...usage, calls, uses, images }, excess);
}

/** On a route that forwards requests unchanged, the supplier gets no limit. */
const requestedUses = ({ operation, fees }: GatewayCall): UseCounts =>
  operation.untouched === true ? NO_USES : fees.uses;
const NO_USES: UseCounts = Object.freeze({});

const familyOf = (name: UseName): readonly UseName[] =>
  FAMILIES.find((names) => names.includes(name)) ?? [name];

/** Maximum uses of a kind; undefined if the request did not ask for it, though its supplier can still use it. */
function limitOf(name: UseName, requested: UseCounts): number | undefined {
  let limit: number | undefined;
  for (const member of familyOf(name)) {
    const count = requested[member];
    if (count !== undefined) limit = (limit ?? 0) + count;
  }
  return limit;
}

function capUses(uses: UseCounts, requested: UseCounts, excess: Record<string, number>): UseCounts {
  const capped: Partial<Record<UseName, number>> = {};
  for (const [name, count] of Object.entries(uses) as [UseName, number][]) {
    const limit = limitOf(name, requested);
    capped[name] = limit === undefined ? count : Math.min(count, limit);
    if (capped[name] < count) excess[name] = count - capped[name];
  }
  return capped;
}

function capImages(images: Readonly<Record<string, number>>, max: number): Record<string, number> {
  return Object.fromEntries(Object.entries(images).map(([key, count]) => [key, Math.min(count, max)]));
}

function withExcess(usage: Usage, excess: Readonly<Record<string, number>>): Usage {
  if (Object.keys(excess).length === 0) return usage;
  return { ...usage, excess: { ...usage.excess, ...excess } };
}

class HoldFitter {
  constructor(
    private readonly rates: PriceRates,
    private readonly priceFactor: number | null,
    private readonly amount: Nano,
  ) {}

  fits(usage: Usage): boolean {
    return costOf(usage, this.rates, this.priceFactor) <= this.amount;
  }

  fitUses(usage: Usage, call: GatewayCall): Usage {
    const { uses } = usage;
    if (uses === null) return usage;
    const requested = requestedUses(call);
    const unrequested = (Object.keys(uses) as UseName[]).filter(
      (name) => limitOf(name, requested) === undefined,
    );
    if (unrequested.length === 0 || this.fits(usage)) return usage;
    const excess: Record<string, number> = {};
    const requestedEntries = Object.entries(uses).filter(([name]) => !unrequested.includes(name as UseName));
    let charged: Usage = {
      ...usage,
      uses: requestedEntries.length === 0 ? null : Object.fromEntries(requestedEntries),
    };
    for (const name of unrequested) {
      const count = uses[name] ?? 0;
      const withUses = (useCount: number): Usage => ({
        ...charged,
        uses: { ...charged.uses, [name]: useCount },
      });
      const affordable = this.max(count, withUses);
      if (affordable < count) excess[name] = count - affordable;
      if (affordable > 0) charged = withUses(affordable);
    }
    return withExcess(charged, excess);
  }

  /** Charges tokens within the limits of the request, those at the highest rates first. */
  fitTokens(usage: Usage, bounds: { readonly input: number; readonly output: number }): Usage {
    const { rates } = stepFor(this.rates, bounds.input);
    const dearestFirst = (buckets: readonly UsageBucket[]): UsageBucket[] =>
      buckets.toSorted((one, other) => Number(rates[other] - rates[one]));
    const counts: Partial<Record<UsageBucket, number>> = {};
    const sides = [
      [INPUT_BUCKETS, bounds.input],
      [OUTPUT_BUCKETS, bounds.output],
    ] as const;
    for (const [buckets, limit] of sides) {
      let remaining = limit;
      for (const bucket of dearestFirst(buckets)) {
        counts[bucket] = Math.min(usage[bucket], remaining);
        remaining -= counts[bucket];
      }
    }
    let charged: Usage = { ...usage, ...counts, source: 'estimated' };
    if (!this.fits(charged)) charged = { ...charged, parts: null };
    if (!this.fits(charged)) charged = this.scaleToFit(charged);
    const excess: Record<string, number> = {};
    for (const [side, buckets] of [
      ['input_tokens', INPUT_BUCKETS],
      ['output_tokens', OUTPUT_BUCKETS],
    ] as const) {
      const uncharged = sumOf(usage, buckets) - sumOf(charged, buckets);
      if (uncharged > 0) excess[side] = uncharged;
    }
    return withExcess(charged, excess);
  }

  /** Last resort if a supplier served the request at a higher rate than expected. */
  private scaleToFit(usage: Usage): Usage {
    const scale = (millionths: number): Usage => {
      const counts: Partial<Record<UsageBucket, number>> = {};
      for (const bucket of [...INPUT_BUCKETS, ...OUTPUT_BUCKETS])
        counts[bucket] = Math.floor((usage[bucket] / 1e6) * millionths);
      return { ...usage, ...counts };
    };
    return scale(this.max(1_000_000, scale));
  }

  private max(max: number, usageWith: (count: number) => Usage): number {
    if (this.fits(usageWith(max))) return max;
    let [affordable, above] = [0, max];
    while (above - affordable > 1) {
      const middle = Math.floor((affordable + above) / 2);
      if (this.fits(usageWith(middle))) affordable = middle;
      else above = middle;
    }
    return affordable;
  }
}

const sumOf = (usage: Usage, buckets: readonly UsageBucket[]): number =>
  buckets.reduce((sum, bucket) => sum + usage[bucket], 0);
