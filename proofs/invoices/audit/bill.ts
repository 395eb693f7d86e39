/** The bill prices counts by a price list, in exact fractions. Nothing here is shared with the service. */

export type Words = Readonly<Record<string, unknown>>;

/** Each token in one bucket, under the names of the price list. */
export interface Counts {
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
const nothing: Fraction = { over: 0n, under: 1n };
/** Words for the usual price; `auto` is the supplier's choice, and it named none. */
const usual = new Set([
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
/** A bucket without a rate of its own has that of another. */
const insteadOf: Readonly<Record<string, string>> = {
  cache_read: 'input',
  cache_write: 'input',
  cache_write_long: 'cache_write',
  audio_input: 'input',
  image: 'input',
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
};

const whole = (count: number): Fraction => ({ over: BigInt(count), under: 1n });
const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const isMore = (a: Fraction, b: Fraction): boolean => a.over * b.under > b.over * a.under;
const most = (list: readonly Fraction[]): Fraction => list.reduce((a, b) => (isMore(b, a) ? b : a), nothing);
const inWords = (value: unknown): Words =>
  typeof value === 'object' && value !== null ? (value as Words) : {};

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

interface Mode {
  readonly multiplier: Fraction;
  readonly rates: Words | null;
}

/** A price list says `service_tier: {flex: …}`, the audit of a key `modes: {"service_tier=flex": …}`. */
function modesOf(price: Words, field: string): ReadonlyMap<string, Mode> {
  const listed = Object.entries(inWords(price[field])).map(([value, given]) => {
    const { multiplier, ...rates } = inWords(given);
    const own = 'input' in rates ? rates : null;
    return [value, { multiplier: decimal(multiplier ?? 1), rates: own }] as const;
  });
  const shown = Object.entries(inWords(price['modes'])).flatMap(([name, given]) => {
    const { multiplier, rates } = inWords(given);
    const own = rates === undefined ? null : inWords(rates);
    const mode: Mode = { multiplier: decimal(multiplier ?? 1), rates: own };
    return name.startsWith(`${field}=`) ? [[name.slice(field.length + 1), mode] as const] : [];
  });
  return new Map([...listed, ...shown]);
}

function rateOf(rates: Words, bucket: string): Fraction {
  if (rates[bucket] !== undefined) return decimal(rates[bucket]);
  const other = insteadOf[bucket];
  return other === undefined ? nothing : rateOf(rates, other);
}

/** Of every tier that is reached the rates it names stand over those below. */
function ratesFor(list: Words, entered: number): Words {
  const tiers = Array.isArray(list['tiers']) ? (list['tiers'] as Words[]) : [];
  return tiers.reduce<Words>(
    (rates, tier) => (entered > Number(tier['above_input_tokens']) ? { ...rates, ...tier } : rates),
    list,
  );
}

function tokensCost({ tokens }: Counts, price: Words, modes: readonly Mode[]): Fraction {
  const own = modes.flatMap(({ rates }) => (rates === null ? [] : [rates]));
  const entered = inputs.reduce((sum, bucket) => sum + (tokens[bucket] ?? 0), 0);
  const lists = (own.length === 0 ? [price] : own).map((list) => ratesFor(list, entered));
  let cost = nothing;
  for (const [bucket, count] of Object.entries(tokens)) {
    const rate = most(lists.map((rates) => rateOf(rates, bucket)));
    cost = plus(cost, times(times(whole(count), rate), MILLION));
  }
  return modes.reduce((sum, { multiplier }) => times(sum, multiplier), cost);
}

/** A mode that the list does not know costs what the dearest of its field does. */
function modeSets(price: Words, served: Counts['modes']): readonly (readonly Mode[])[] {
  let sets: readonly (readonly Mode[])[] = [[]];
  for (const field of modeFields) {
    const value = served[field];
    if (value === undefined || usual.has(value)) continue;
    const listed = modesOf(price, field);
    const mode = listed.get(value);
    const choices = mode === undefined ? [[], ...[...listed.values()].map((one) => [one])] : [[mode]];
    sets = sets.flatMap((set) => choices.map((choice) => [...set, ...choice]));
  }
  return sets;
}

const free = new Set(['url_fetch', 'computer_use']);
const eitherOr: Readonly<Record<string, string>> = {
  grounded_prompt: 'grounding_query',
  grounding_query: 'grounded_prompt',
};

function useRate(uses: Words, name: string): Fraction {
  const rate = uses[name] ?? (name.startsWith('web_search_') ? uses['web_search'] : undefined);
  if (rate !== undefined) return decimal(rate);
  if (free.has(name) || uses[eitherOr[name] ?? ''] !== undefined) return nothing;
  return most(Object.values(uses).map(decimal));
}

function imageRate(images: Words, name: string): Fraction {
  const [quality = '', size = ''] = name.split('/');
  const rate = images[name] ?? images[size] ?? images[quality];
  return rate === undefined ? most(Object.values(images).map(decimal)) : decimal(rate);
}

/** Rounded up once, after everything has been added and taken times a mark-up. */
export function billOf(counts: Counts, price: Words, factor: unknown = 1): bigint {
  const uses = Object.entries(counts.uses).map(([name, count]) =>
    times(whole(count), useRate(inWords(price['uses']), name)),
  );
  const images = Object.entries(counts.images).map(([name, count]) =>
    times(whole(count), imageRate(inWords(price['images']), name)),
  );
  const calls = times(whole(counts.calls), decimal(price['per_call'] ?? 0));
  const sound = times(times(whole(counts.milliseconds), MINUTE), decimal(price['per_minute'] ?? 0));
  const beside = [...uses, ...images, calls, sound].reduce(plus, nothing);
  const bills = modeSets(price, counts.modes).map((modes) => plus(beside, tokensCost(counts, price, modes)));
  return ceiling(times(most(bills), decimal(factor)));
}
