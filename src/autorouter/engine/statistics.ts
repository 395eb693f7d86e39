import { DAY_MS } from '../../kernel';
import { type Example, base64, bytes, type Outcome } from './examples';
import { addLinear, emptyLinearSums, type LinearSums, scaleLinear } from './linear';

export const HALF_LIFE_MS = 30 * DAY_MS;
/** A model's earlier scores count this much once its supplier has changed it. */
const AFTER_CHANGE = 0.25;
const MOST_CHANGES = 8;

/** They are weighted sums over outcomes. */
interface Sums {
  weight: number;
  scored: number;
  tokens: number;
}

/** These statistics of one model are as of the state's `asOf`. */
export interface ModelStatistics {
  /** Outcomes ever learned, without decay. */
  judged: number;
  readonly all: Sums;
  readonly buckets: Map<string, Sums>;
  readonly linear: LinearSums;
  /** Logarithms of latencies: their mean is that of the middle request. */
  readonly latency: { weight: number; logarithms: number };
  /** The model became another one behind the same name at these times, the oldest first. */
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
  { score, tokensOut, latencyMs }: Outcome,
  weight: number,
): void {
  const counted = weight * sinceChange(statistics, example.at);
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

function bucketSums({ buckets }: ModelStatistics, bucket: string): Sums {
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

/** The model behind the name is another since `at`: what was learned of it before counts a quarter. */
export function noteChange(statistics: ModelStatistics, at: number): void {
  if (statistics.changes.includes(at)) return;
  scaleStatistics(statistics, AFTER_CHANGE);
  statistics.changes.push(at);
  statistics.changes.sort((one, other) => one - other);
  statistics.changes.splice(0, statistics.changes.length - MOST_CHANGES);
}

/** An outcome of that time counts this much for the model of today. */
export function sinceChange({ changes }: ModelStatistics, at: number): number {
  let factor = 1;
  for (const change of changes) if (at < change) factor *= AFTER_CHANGE;
  return factor;
}

/** Statistics are stored as this JSON. */
export interface StoredStatistics {
  readonly judged: number;
  readonly all: Sums;
  readonly buckets: Readonly<Record<string, Sums>>;
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

/** Sums over other signals than today's are left out. */
function loadedLinear(stored: StoredStatistics): LinearSums {
  const empty = emptyLinearSums();
  const products = new Float64Array(bytes(stored.products));
  const scored = new Float64Array(bytes(stored.scored));
  const fits = products.length === empty.products.length && scored.length === empty.scored.length;
  return fits ? { products, scored } : empty;
}
