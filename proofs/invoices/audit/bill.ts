/** Prices counts by a price list in exact fractions; shares no code with the service. */

export type PriceObject = Readonly<Record<string, unknown>>;

/** Each token counted in one bucket, named as in the price list. */
export interface BilledCounts {
  readonly tokens: Readonly<Record<string, number>>;
  readonly calls: number;
  readonly milliseconds: number;
  readonly uses: Readonly<Record<string, number>>;
  readonly images: Readonly<Record<string, number>>;
  readonly modes: Readonly<Record<string, string>>;
}

interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const NANO = 1_000_000_000n;
const MILLION: Fraction = { over: 1n, under: 1_000_000n };
const MINUTE: Fraction = { over: 1n, under: 60_000n };
const ZERO: Fraction = { over: 0n, under: 1n };
/** Values that mean the usual price; `auto` is the supplier's choice, without a named tier. */
const DEFAULT_MODES = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'global',
  'not_available',
]);
const modeFields = ['service_tier', 'speed', 'inference_geo'];
const inputs = ['input', 'cache_read', 'cache_write', 'cache_write_long', 'audio_input', 'image'];
/** Fallback buckets of buckets without their own rate. */
const FALLBACK_BUCKETS: Readonly<Record<string, string>> = {
  cache_read: 'input',
  cache_write: 'input',
  cache_write_long: 'cache_write',
  audio_input: 'input',
  image: 'input',
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
};

const fractionOf = (count: number): Fraction => ({ over: BigInt(count), under: 1n });
const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const isGreater = (a: Fraction, b: Fraction): boolean => a.over * b.under > b.over * a.under;
const maximum = (list: readonly Fraction[]): Fraction =>
  list.reduce((a, b) => (isGreater(b, a) ? b : a), ZERO);
const asFields = (value: unknown): PriceObject =>
  typeof value === 'object' && value !== null ? (value as PriceObject) : {};

export function decimal(value: unknown): Fraction {
  const text = String(value);
  if (!/^\d+(?:\.\d+)?$/.test(text)) throw new Error(`${text} is no decimal`);
  const [digits = '0', places = ''] = text.split('.');
  return { over: BigInt(digits + places), under: 10n ** BigInt(places.length) };
}

/** Nano-dollars, rounded up. */
export function ceiling({ over, under }: Fraction): bigint {
  return (over * NANO + under - 1n) / under;
}

interface ServedMode {
  readonly multiplier: Fraction;
  readonly rates: PriceObject | null;
}

/** A price list has `service_tier: {flex: …}`, the audit of a key `modes: {"service_tier=flex": …}`. */
function modesOf(price: PriceObject, field: string): ReadonlyMap<string, ServedMode> {
  const listedModes = Object.entries(asFields(price[field])).map(([value, given]) => {
    const { multiplier, ...rates } = asFields(given);
    const own = 'input' in rates ? rates : null;
    return [value, { multiplier: decimal(multiplier ?? 1), rates: own }] as const;
  });
  const auditedModes = Object.entries(asFields(price['modes'])).flatMap(([name, given]) => {
    const { multiplier, rates } = asFields(given);
    const own = rates === undefined ? null : asFields(rates);
    const mode: ServedMode = { multiplier: decimal(multiplier ?? 1), rates: own };
    return name.startsWith(`${field}=`) ? [[name.slice(field.length + 1), mode] as const] : [];
  });
  return new Map([...listedModes, ...auditedModes]);
}

function rateOf(rates: PriceObject, bucket: string): Fraction {
  if (rates[bucket] !== undefined) return decimal(rates[bucket]);
  const other = FALLBACK_BUCKETS[bucket];
  return other === undefined ? ZERO : rateOf(rates, other);
}

/** Rates of a higher tier that is reached override those of the tiers below. */
function ratesFor(list: PriceObject, inputTokens: number): PriceObject {
  const tiers = Array.isArray(list['tiers']) ? (list['tiers'] as PriceObject[]) : [];
  return tiers.reduce<PriceObject>(
    (rates, tier) => (inputTokens > Number(tier['above_input_tokens']) ? { ...rates, ...tier } : rates),
    list,
  );
}

function tokensCost({ tokens }: BilledCounts, price: PriceObject, modes: readonly ServedMode[]): Fraction {
  const own = modes.flatMap(({ rates }) => (rates === null ? [] : [rates]));
  const inputTokens = inputs.reduce((sum, bucket) => sum + (tokens[bucket] ?? 0), 0);
  const lists = (own.length === 0 ? [price] : own).map((list) => ratesFor(list, inputTokens));
  let cost = ZERO;
  for (const [bucket, count] of Object.entries(tokens)) {
    const rate = maximum(lists.map((rates) => rateOf(rates, bucket)));
    cost = plus(cost, times(times(fractionOf(count), rate), MILLION));
  }
  return modes.reduce((sum, { multiplier }) => times(sum, multiplier), cost);
}

/** A mode that is not listed costs as much as the most expensive listed mode of its field. */
function modeSets(
  price: PriceObject,
  servedModes: BilledCounts['modes'],
): readonly (readonly ServedMode[])[] {
  let sets: readonly (readonly ServedMode[])[] = [[]];
  for (const field of modeFields) {
    const value = servedModes[field];
    if (value === undefined || DEFAULT_MODES.has(value)) continue;
    const listedModes = modesOf(price, field);
    const mode = listedModes.get(value);
    const choices = mode === undefined ? [[], ...[...listedModes.values()].map((one) => [one])] : [[mode]];
    sets = sets.flatMap((set) => choices.map((choice) => [...set, ...choice]));
  }
  return sets;
}

const FREE_USES = new Set(['url_fetch', 'computer_use']);
const ALTERNATIVE_NAMES: Readonly<Record<string, string>> = {
  grounded_prompt: 'grounding_query',
  grounding_query: 'grounded_prompt',
};

function useRate(uses: PriceObject, name: string): Fraction {
  const rate = uses[name] ?? (name.startsWith('web_search_') ? uses['web_search'] : undefined);
  if (rate !== undefined) return decimal(rate);
  if (FREE_USES.has(name) || uses[ALTERNATIVE_NAMES[name] ?? ''] !== undefined) return ZERO;
  return maximum(Object.values(uses).map(decimal));
}

function imageRate(images: PriceObject, name: string): Fraction {
  const [quality = '', size = ''] = name.split('/');
  const rate = images[name] ?? images[size] ?? images[quality];
  return rate === undefined ? maximum(Object.values(images).map(decimal)) : decimal(rate);
}

/** Rounded up once, after everything has been added and multiplied by the mark-up. */
export function billOf(counts: BilledCounts, price: PriceObject, factor: unknown = 1): bigint {
  const uses = Object.entries(counts.uses).map(([name, count]) =>
    times(fractionOf(count), useRate(asFields(price['uses']), name)),
  );
  const images = Object.entries(counts.images).map(([name, count]) =>
    times(fractionOf(count), imageRate(asFields(price['images']), name)),
  );
  const calls = times(fractionOf(counts.calls), decimal(price['per_call'] ?? 0));
  const audioCost = times(times(fractionOf(counts.milliseconds), MINUTE), decimal(price['per_minute'] ?? 0));
  const otherCosts = [...uses, ...images, calls, audioCost].reduce(plus, ZERO);
  const bills = modeSets(price, counts.modes).map((modes) =>
    plus(otherCosts, tokensCost(counts, price, modes)),
  );
  return ceiling(times(maximum(bills), decimal(factor)));
}
