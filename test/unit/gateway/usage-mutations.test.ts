import { chargedUsage, usageOfComplete } from '../../../src/gateway/settle/answer-usage';
import type { LaneAttempt } from '../../../src/gateway/attempt';
import { maxCostOf, costOf, parseUsdPerMillion as usd, priceRates } from '../../../src/kernel';
import { Chance } from '../../system/chance';
import {
  bounds,
  type Consistent,
  type Dialect,
  dialects,
  type Figures,
  IN,
  type Json,
  OUT,
  type Path,
  sum,
} from './usage-readings';

/*
 * The requirement: "the property test feeds 100,000 mutated reports of six dialects and asserts that the charge
 * is never below the smallest consistent reading and never above the hold". The readings here are written apart from
 * those of the gateway.
 */
const REPORTS = 100_000;
const SEED = 5;

const price = priceRates({
  input: usd('2'),
  output: usd('8'),
  cacheRead: usd('0.2'),
  cacheWrite: usd('2.5'),
  cacheWriteLong: usd('4'),
  reasoning: usd('10'),
  audioInput: usd('30'),
  perCallNano: 1_000_000n,
  uses: { web_search: 10_000_000n },
});
const fees = { uses: { web_search: bounds.searches }, modes: {}, image: null };
const hold = maxCostOf(
  { inputTokens: bounds.input, maxOutputTokens: bounds.output, calls: bounds.calls, fees },
  [price],
);
const lane = {
  routed: {
    call: {
      operation: {},
      calls: bounds.calls,
      fees,
      measure: {},
      inputEstimate: 800,
      inbound: { priceFactor: null },
    },
    model: { contextTokens: 128_000 },
    held: { hold: { amount: hold }, inputBound: bounds.input, tokens: bounds.input + bounds.output },
  },
  route: { price: { rates: price } },
} as unknown as LaneAttempt;

const containers: ReadonlySet<string> = new Set([
  'prompt_tokens_details',
  'completion_tokens_details',
  'input_tokens_details',
  'output_tokens_details',
  'cache_creation',
  'server_tool_use',
]);

const isUsable = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000;

function parentOf(body: Json, path: Path): Json | undefined {
  let current: unknown = body;
  for (const name of path.slice(0, -1)) current = Reflect.get(Object(current) as object, name);
  const isObject = typeof current === 'object' && current !== null && !Array.isArray(current);
  return isObject ? (current as Json) : undefined;
}

function mutate(body: Json, path: Path, chance: Chance): void {
  const parent = parentOf(body, path);
  const name = path.at(-1)!;
  if (parent === undefined) return;
  const value = parent[name];
  const count = typeof value === 'number' ? value : 50;
  const changed: readonly unknown[] = [
    String(count),
    -1,
    count + 0.5,
    NaN,
    Infinity,
    null,
    undefined,
    true,
    [],
    {},
    '',
    1e18,
    1_000_000_001,
    0,
    count + 1,
    Math.max(0, count - 1),
    count * 10,
    count * 1_000,
    chance.whole(0, 4_000),
    1_000_000,
  ];
  parent[name] = changed[chance.whole(0, changed.length - 1)];
}

/** The usable figures of a report, and whether all that are there can be used. */
function figuresOf({ figures }: Dialect, body: Json): { figure: Figures; isUsableThroughout: boolean } {
  const root = figures[0]!.slice(0, -1);
  const figure = (...path: string[]): number | undefined => {
    const value = parentOf(body, [...root, ...path])?.[path.at(-1)!];
    return isUsable(value) ? value : undefined;
  };
  const isUsableThroughout = figures.every((path) => {
    const value = parentOf(body, path)?.[path.at(-1)!];
    if (value === undefined || value === null) return true;
    return containers.has(path.at(-1)!) ? typeof value === 'object' : isUsable(value);
  });
  return { figure, isUsableThroughout };
}

/** The smallest cost within the bounds of the request: what is beyond a bound is what costs most. */
function smallestCost({ input, output, fixed = 0, rest = 0 }: Consistent): bigint {
  const asInput = sideCost([...input, [rest, IN]], bounds.input) + sideCost(output, bounds.output);
  const asOutput = sideCost(input, bounds.input) + sideCost([...output, [rest, OUT]], bounds.output);
  return BigInt(fixed + Math.min(asInput, asOutput));
}

function sideCost(list: Consistent['input'], bound: number): number {
  let left = bound;
  let cost = 0;
  for (const [tokens, rate] of list.toSorted(([, one], [, other]) => one - other)) {
    const counted = Math.min(tokens, left);
    cost += counted * rate;
    left -= counted;
  }
  return cost;
}

test.each(Object.entries(dialects))(
  '%s: the charge of a mutated report is never below its smallest consistent reading and never above the hold',
  (name, dialect) => {
    const chance = new Chance(SEED);
    let [contradicting, aboveHold] = [0, 0];
    for (let at = 0; at < REPORTS / Object.keys(dialects).length; at += 1) {
      const body = dialect.report(chance);
      for (let times = chance.whole(1, 3); times > 0; times -= 1)
        mutate(body, dialect.figures[chance.whole(0, dialect.figures.length - 1)]!, chance);
      const read = usageOfComplete(dialect.read(body), lane.routed, () => 400);
      const usage = chargedUsage(read, lane, { translation: null });
      const cost = costOf(usage, price);
      const { figure, isUsableThroughout } = figuresOf(dialect, body);
      const reading = dialect.smallest(figure);
      const smallest = smallestCost(reading);
      const shown = (): string =>
        `${name} ${JSON.stringify(body)}: ${cost} of ${smallest} to ${hold}, ${JSON.stringify(usage)}`;
      if (cost < smallest) throw new Error(`below: ${shown()}`);
      if (cost <= hold) continue;
      aboveHold += 1;
      // A report that agrees with itself is a bill, and charged in full up to what the model can read.
      const tokens = sum(reading.input) + sum(reading.output) + (reading.rest ?? 0);
      const isBill = isUsableThroughout && dialect.agrees(figure) && tokens <= 128_000;
      if (!isBill) throw new Error(`above: ${shown()}`);
      if (usage.ignored !== undefined) contradicting += 1;
    }
    expect(contradicting).toBe(0);
    expect(aboveHold).toBeLessThan(REPORTS / 10);
  },
);
