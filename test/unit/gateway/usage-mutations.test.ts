import { chargedUsage, usageOfComplete } from '../../../src/gateway/settle/answer-usage';
import type { LaneAttempt } from '../../../src/gateway/attempt';
import { maxCostOf, costOf, parseUsdPerMillion as usd, priceRates } from '../../../src/kernel';
import { SeededRandom } from '../../system/seeded-random';
import {
  bounds,
  type ConsistentUsage,
  type UsageDialect,
  dialects,
  type Figures,
  INPUT_RATE,
  type Json,
  OUTPUT_RATE,
  type Path,
  sum,
} from './usage-readings';

/*
 * The requirement: "the property test feeds 100,000 mutated reports of six dialects and asserts that the charge is
 * never below the smallest consistent reading and never above the hold". The expected readings are implemented
 * independently of the gateway.
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

const isUsableCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000;

function parentOf(body: Json, path: Path): Json | undefined {
  let current: unknown = body;
  for (const name of path.slice(0, -1)) current = Reflect.get(Object(current) as object, name);
  const isObject = typeof current === 'object' && current !== null && !Array.isArray(current);
  return isObject ? (current as Json) : undefined;
}

function mutate(body: Json, path: Path, chance: SeededRandom): void {
  const parent = parentOf(body, path);
  const name = path.at(-1)!;
  if (parent === undefined) return;
  const value = parent[name];
  const count = typeof value === 'number' ? value : 50;
  const replacements: readonly unknown[] = [
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
    chance.integer(0, 4_000),
    1_000_000,
  ];
  parent[name] = replacements[chance.integer(0, replacements.length - 1)];
}

/** Returns the usable figures of a report, and whether every figure present is usable. */
function figuresOf({ figures }: UsageDialect, body: Json): { figure: Figures; isUsableThroughout: boolean } {
  const root = figures[0]!.slice(0, -1);
  const figure = (...path: string[]): number | undefined => {
    const value = parentOf(body, [...root, ...path])?.[path.at(-1)!];
    return isUsableCount(value) ? value : undefined;
  };
  const isUsableThroughout = figures.every((path) => {
    const value = parentOf(body, path)?.[path.at(-1)!];
    if (value === undefined || value === null) return true;
    return containers.has(path.at(-1)!) ? typeof value === 'object' : isUsableCount(value);
  });
  return { figure, isUsableThroughout };
}

/** Returns the smallest cost within the bounds of the request: usage beyond a bound costs the most. */
function smallestCost({ input, output, fixed = 0, rest = 0 }: ConsistentUsage): bigint {
  const asInput = sideCost([...input, [rest, INPUT_RATE]], bounds.input) + sideCost(output, bounds.output);
  const asOutput = sideCost(input, bounds.input) + sideCost([...output, [rest, OUTPUT_RATE]], bounds.output);
  return BigInt(fixed + Math.min(asInput, asOutput));
}

function sideCost(list: ConsistentUsage['input'], bound: number): number {
  let remaining = bound;
  let cost = 0;
  for (const [tokens, rate] of list.toSorted(([, one], [, other]) => one - other)) {
    const countedTokens = Math.min(tokens, remaining);
    cost += countedTokens * rate;
    remaining -= countedTokens;
  }
  return cost;
}

test.each(Object.entries(dialects))(
  '%s: the charge of a mutated report is never below its smallest consistent reading and never above the hold',
  (name, dialect) => {
    const randomSource = new SeededRandom(SEED);
    let [contradicting, aboveHold] = [0, 0];
    for (let iteration = 0; iteration < REPORTS / Object.keys(dialects).length; iteration += 1) {
      const body = dialect.report(randomSource);
      for (let mutations = randomSource.integer(1, 3); mutations > 0; mutations -= 1)
        mutate(body, dialect.figures[randomSource.integer(0, dialect.figures.length - 1)]!, randomSource);
      const charged = usageOfComplete(dialect.read(body), lane.routed, () => 400);
      const usage = chargedUsage(charged, lane, { translation: null });
      const cost = costOf(usage, price);
      const { figure, isUsableThroughout } = figuresOf(dialect, body);
      const reading = dialect.smallest(figure);
      const smallest = smallestCost(reading);
      const describeCase = (): string =>
        `${name} ${JSON.stringify(body)}: ${cost} of ${smallest} to ${hold}, ${JSON.stringify(usage)}`;
      if (cost < smallest) throw new Error(`below: ${describeCase()}`);
      if (cost <= hold) continue;
      aboveHold += 1;
      // A self-consistent report is a bill and is charged in full up to the context window.
      const tokens = sum(reading.input) + sum(reading.output) + (reading.rest ?? 0);
      const isBill = isUsableThroughout && dialect.agrees(figure) && tokens <= 128_000;
      if (!isBill) throw new Error(`above: ${describeCase()}`);
      if (usage.ignored !== undefined) contradicting += 1;
    }
    expect(contradicting).toBe(0);
    expect(aboveHold).toBeLessThan(REPORTS / 10);
  },
);
