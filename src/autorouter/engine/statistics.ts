import { DAY_MS } from '../../kernel';
import { type Example, base64, bytes, type ExampleOutcome } from './examples';
import { addLinear, emptyLinearSums, type LinearSums, scaleLinear } from './linear';

export const HALF_LIFE_MS = 30 * DAY_MS;
/** Weight of a model's earlier scores after its supplier has changed it. */
const CHANGE_FACTOR = 0.25;
const MAX_CHANGES = 8;

interface OutcomeSums {
  weight: number;
  scored: number;
  tokens: number;
}

export interface ModelStatistics {
  /** Outcomes ever learned, without decay. */
  judged: number;
  readonly all: OutcomeSums;
  readonly buckets: Map<string, OutcomeSums>;
  readonly linear: LinearSums;
  /** Logarithms of latencies; their mean gives the geometric mean latency. */
  readonly latency: { weight: number; logarithms: number };
  /** Times at which another model replaced this one behind the same name, oldest first. */
  readonly changes: number[];
}

export const emptyStatistics = (): ModelStatistics => ({
  judged: 0,
  all: { weight: 0, scored: 0, tokens: 0 },
  buckets: new Map(),
  linear: emptyLinearSums(),
  latency: { weight: 0, logarithms: 0 },
  changes: [],
});

export function addOutcome(
  statistics: ModelStatistics,
  example: Example,
  { score, tokensOut, latencyMs }: ExampleOutcome,
  weight: number,
): void {
  const counted = weight * changeFactor(statistics, example.at);
  statistics.judged += 1;
  for (const sums of [statistics.all, bucketSums(statistics, example.bucket)]) {
    sums.weight += counted;
    sums.scored += counted * score;
    sums.tokens += counted * tokensOut;
  }
  addLinear(statistics.linear, example.structure, score, counted);
  if (latencyMs !== undefined && latencyMs > 0) {
    statistics.latency.weight += counted;
    statistics.latency.logarithms += counted * Math.log(latencyMs);
  }
}

function bucketSums({ buckets }: ModelStatistics, bucket: string): OutcomeSums {
  let sums = buckets.get(bucket);
  if (sums === undefined) buckets.set(bucket, (sums = { weight: 0, scored: 0, tokens: 0 }));
  return sums;
}

export function scaleStatistics(statistics: ModelStatistics, factor: number): void {
  for (const sums of [statistics.all, ...statistics.buckets.values()]) {
    sums.weight *= factor;
    sums.scored *= factor;
    sums.tokens *= factor;
  }
  statistics.latency.weight *= factor;
  statistics.latency.logarithms *= factor;
  scaleLinear(statistics.linear, factor);
}

/** Records that the model behind the name changed at `at`: what was learned before counts a quarter. */
export function noteChange(statistics: ModelStatistics, at: number): void {
  if (statistics.changes.includes(at)) return;
  scaleStatistics(statistics, CHANGE_FACTOR);
  statistics.changes.push(at);
  statistics.changes.sort((one, other) => one - other);
  statistics.changes.splice(0, statistics.changes.length - MAX_CHANGES);
}

export function changeFactor({ changes }: ModelStatistics, at: number): number {
  let factor = 1;
  for (const change of changes) if (at < change) factor *= CHANGE_FACTOR;
  return factor;
}

export interface StoredStatistics {
  readonly judged: number;
  readonly all: OutcomeSums;
  readonly buckets: Readonly<Record<string, OutcomeSums>>;
  readonly products: string;
  readonly scored: string;
  readonly latency: { weight: number; logarithms: number };
  readonly changes: readonly number[];
}

export const storedStatistics = (statistics: ModelStatistics): StoredStatistics => ({
  judged: statistics.judged,
  all: { ...statistics.all },
  buckets: Object.fromEntries([...statistics.buckets].map(([bucket, sums]) => [bucket, { ...sums }])),
  products: base64(statistics.linear.products),
  scored: base64(statistics.linear.scored),
  latency: { ...statistics.latency },
  changes: [...statistics.changes],
});

export const loadedStatistics = (stored: StoredStatistics): ModelStatistics => ({
  judged: stored.judged,
  all: { ...stored.all },
  buckets: new Map(Object.entries(stored.buckets).map(([bucket, sums]) => [bucket, { ...sums }])),
  linear: loadedLinear(stored),
  latency: { ...stored.latency },
  changes: [...stored.changes],
});

/** Drops sums over signals of another length than the current one. */
function loadedLinear(stored: StoredStatistics): LinearSums {
  const empty = emptyLinearSums();
  const products = new Float64Array(bytes(stored.products));
  const scored = new Float64Array(bytes(stored.scored));
  const isCompatible = products.length === empty.products.length && scored.length === empty.scored.length;
  return isCompatible ? { products, scored } : empty;
}
