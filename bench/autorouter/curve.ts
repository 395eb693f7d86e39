import type { DataSet, PromptRow } from './data';

export interface CurvePoint {
  readonly cost: number;
  readonly quality: number;
}

/** A method's prediction for each model on one prompt. */
export interface ModelPrediction {
  readonly quality: readonly number[];
  readonly cost: readonly number[];
}

/** Actual cost of a response in USD. */
export const costOf = ({ rates }: DataSet, row: PromptRow, model: number): number => {
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

/** Quality and cost of always calling the same model, per model. */
export const singleModelPoints = (set: DataSet, rows: readonly PromptRow[]): CurvePoint[] =>
  set.models.map((_, model) => ({
    quality: mean(rows.map(({ scores }) => scores[model] ?? 0)),
    cost: mean(rows.map((row) => costOf(set, row, model))),
  }));

export const bestOf = (points: readonly CurvePoint[]): CurvePoint =>
  points.reduce((best, point) => (point.quality > best.quality ? point : best));

export const cheapestOf = (points: readonly CurvePoint[]): CurvePoint =>
  points.reduce((best, point) => (point.cost < best.cost ? point : best));

/** Willingness to pay, from quality at any price to the cheapest model. */
const prices = [0, ...Array.from({ length: 90 }, (_, step) => 1e-4 * 10 ** (step / 15)), Infinity];

/** Chooses by predicted quality at each willingness to pay; returns true quality and cost. */
export function sweep(
  set: DataSet,
  rows: readonly PromptRow[],
  predictions: readonly ModelPrediction[],
  unit: number,
): CurvePoint[] {
  return prices.map((price) => {
    let [quality, cost] = [0, 0];
    rows.forEach((row, at) => {
      const pick = pickAt(predictions[at] ?? { quality: [], cost: [] }, price / unit);
      quality += row.scores[pick] ?? 0;
      cost += costOf(set, row, pick);
    });
    return { quality: quality / rows.length, cost: cost / rows.length };
  });
}

function pickAt({ quality, cost }: ModelPrediction, price: number): number {
  let [best, maxUtility] = [0, -Infinity];
  quality.forEach((value, model) => {
    const utility = price === Infinity ? -(cost[model] ?? 0) : value - price * (cost[model] ?? 0);
    if (utility > maxUtility) [best, maxUtility] = [model, utility];
  });
  return best;
}

/** Upper convex hull: points that no mixture of others beats; cost and quality increase along it. */
export function hull(points: readonly CurvePoint[]): CurvePoint[] {
  const sorted = [...points].sort((left, right) => left.cost - right.cost || right.quality - left.quality);
  const hullPoints: CurvePoint[] = [];
  for (const point of sorted) {
    if (point.quality <= (hullPoints.at(-1)?.quality ?? -Infinity)) continue;
    for (
      let last = hullPoints.at(-1), before = hullPoints.at(-2);
      last && before;
      last = hullPoints.at(-1), before = hullPoints.at(-2)
    ) {
      if (slope(before, last) > slope(before, point)) break;
      hullPoints.pop();
    }
    hullPoints.push(point);
  }
  return hullPoints;
}

const slope = (from: CurvePoint, to: CurvePoint): number =>
  (to.quality - from.quality) / (to.cost - from.cost || 1e-12);

/** Below its first point a hull has that point's quality, as every hull starts at the cheapest model. */
export function qualityAt(line: readonly CurvePoint[], cost: number): number {
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

/** Cost of a quality on the curve; undefined if the curve never reaches it. */
export function costAt(line: readonly CurvePoint[], quality: number): number | undefined {
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

const INTEGRATION_STEPS = 400;

/** Mean quality between the costs of the cheapest and the best single model. */
export function averageQuality(line: readonly CurvePoint[], from: number, to: number): number {
  let sum = 0;
  for (let step = 0; step < INTEGRATION_STEPS; step += 1)
    sum += qualityAt(line, from + ((to - from) * (step + 0.5)) / INTEGRATION_STEPS);
  return sum / INTEGRATION_STEPS;
}
