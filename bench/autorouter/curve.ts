import type { DataSet, Row } from './data';

export interface Point {
  readonly cost: number;
  readonly quality: number;
}

/** A method believes this of the models for one prompt. */
export interface Belief {
  readonly quality: readonly number[];
  readonly cost: readonly number[];
}

/** The answer really cost this, in USD. */
export const costOf = ({ rates }: DataSet, row: Row, model: number): number => {
  const [inRate, outRate] = rates[model] ?? [0, 0];
  return (row.features.counters.tokens * inRate + (row.tokensOut[model] ?? 0) * outRate) / 1e6;
};

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export const deviation = (values: readonly number[]): number => {
  const middle = mean(values);
  return Math.sqrt(
    values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / Math.max(1, values.length - 1),
  );
};

/** Quality and cost of always asking one model, for each. */
export const singles = (set: DataSet, rows: readonly Row[]): Point[] =>
  set.models.map((_, model) => ({
    quality: mean(rows.map(({ scores }) => scores[model] ?? 0)),
    cost: mean(rows.map((row) => costOf(set, row, model))),
  }));

export const bestOf = (points: readonly Point[]): Point =>
  points.reduce((best, one) => (one.quality > best.quality ? one : best));

export const cheapestOf = (points: readonly Point[]): Point =>
  points.reduce((best, one) => (one.cost < best.cost ? one : best));

/** Willingness to pay, from quality at any price to the cheapest. */
const prices = [0, ...Array.from({ length: 90 }, (_, step) => 1e-4 * 10 ** (step / 15)), Infinity];

/** Choices by predicted quality at every willingness to pay, with their true quality and cost. */
export function sweep(set: DataSet, rows: readonly Row[], beliefs: readonly Belief[], unit: number): Point[] {
  return prices.map((price) => {
    let [quality, cost] = [0, 0];
    rows.forEach((row, at) => {
      const pick = pickAt(beliefs[at] ?? { quality: [], cost: [] }, price / unit);
      quality += row.scores[pick] ?? 0;
      cost += costOf(set, row, pick);
    });
    return { quality: quality / rows.length, cost: cost / rows.length };
  });
}

function pickAt({ quality, cost }: Belief, price: number): number {
  let [best, most] = [0, -Infinity];
  quality.forEach((value, model) => {
    const utility = price === Infinity ? -(cost[model] ?? 0) : value - price * (cost[model] ?? 0);
    if (utility > most) [best, most] = [model, utility];
  });
  return best;
}

/** The points that no mixture of others beats: cost and quality rise along it. */
export function hull(points: readonly Point[]): Point[] {
  const sorted = [...points].sort((one, other) => one.cost - other.cost || other.quality - one.quality);
  const kept: Point[] = [];
  for (const point of sorted) {
    if (point.quality <= (kept.at(-1)?.quality ?? -Infinity)) continue;
    for (
      let last = kept.at(-1), before = kept.at(-2);
      last && before;
      last = kept.at(-1), before = kept.at(-2)
    ) {
      if (slope(before, last) > slope(before, point)) break;
      kept.pop();
    }
    kept.push(point);
  }
  return kept;
}

const slope = (from: Point, to: Point): number =>
  (to.quality - from.quality) / (to.cost - from.cost || 1e-12);

/** Below the first point a hull promises nothing but its first quality: every hull begins at the cheapest model. */
export function qualityAt(line: readonly Point[], cost: number): number {
  let before = line[0] ?? { cost: 0, quality: 0 };
  if (cost <= before.cost) return before.quality;
  for (const point of line) {
    if (point.cost >= cost) {
      const share = (cost - before.cost) / (point.cost - before.cost || 1);
      return before.quality + share * (point.quality - before.quality);
    }
    before = point;
  }
  return before.quality;
}

/** The curve pays this for a quality; undefined where it never gets there. */
export function costAt(line: readonly Point[], quality: number): number | undefined {
  let before = line[0];
  if (before === undefined) return undefined;
  if (before.quality >= quality) return before.cost;
  for (const point of line) {
    if (point.quality >= quality) {
      const share = (quality - before.quality) / (point.quality - before.quality || 1);
      return before.cost + share * (point.cost - before.cost);
    }
    before = point;
  }
  return undefined;
}

const STEPS = 400;

/** Mean quality between the costs of the cheapest and of the best single model. */
export function averageQuality(line: readonly Point[], from: number, to: number): number {
  let sum = 0;
  for (let step = 0; step < STEPS; step += 1)
    sum += qualityAt(line, from + ((to - from) * (step + 0.5)) / STEPS);
  return sum / STEPS;
}
