import {
  averageQuality,
  type ModelPrediction,
  bestOf,
  cheapestOf,
  costAt,
  costOf,
  hull,
  mean,
  type CurvePoint,
  singleModelPoints,
  sweep,
} from './curve';
import type { DataSet, PromptRow } from './data';
import { nearest, router, shuffledLabels, taskBuckets, type Method } from './methods';
import { randomOf, shuffled } from './random';

/** Reference points on the held-out prompts; any method lies between the zero router and the oracle. */
export interface EvaluationFrame {
  readonly set: DataSet;
  readonly test: readonly PromptRow[];
  readonly best: CurvePoint;
  readonly cheapest: CurvePoint;
  readonly random: CurvePoint;
  readonly zero: number;
  readonly oracle: number;
}

export interface FrontierOutcome {
  /** Mean quality between the costs of the cheapest and the best single model. */
  readonly averageQuality: number;
  /** Share of the oracle's lead over the zero router, in percent. */
  readonly gapClosed: number;
  readonly maxQuality: number;
  /** Cost relative to the best single model at this share of its quality; 1 if the curve never reaches it. */
  readonly cost100: number;
  readonly cost99: number;
  readonly cost95: number;
}

export function split(
  set: DataSet,
  seed: number,
  share = 0.7,
): { train: PromptRow[]; test: PromptRow[]; random: () => number } {
  const random = randomOf(seed);
  const rows = shuffled(set.rows, random);
  const cut = Math.floor(rows.length * share);
  return { train: rows.slice(0, cut), test: rows.slice(cut), random };
}

export function frameOf(set: DataSet, test: readonly PromptRow[]): EvaluationFrame {
  const pointPerModel = singleModelPoints(set, test);
  const [best, cheapest] = [bestOf(pointPerModel), cheapestOf(pointPerModel)];
  const known: ModelPrediction[] = test.map((row) => ({
    quality: row.scores,
    cost: set.models.map((_, model) => costOf(set, row, model)),
  }));
  const average = (points: readonly CurvePoint[]): number =>
    averageQuality(hull(points), cheapest.cost, best.cost);
  return {
    set,
    test,
    best,
    cheapest,
    random: {
      quality: mean(pointPerModel.map(({ quality }) => quality)),
      cost: mean(pointPerModel.map(({ cost }) => cost)),
    },
    zero: average(pointPerModel),
    oracle: average(sweep(set, test, known, best.cost)),
  };
}

export function outcomeOf(
  frame: EvaluationFrame,
  predict: (row: PromptRow) => ModelPrediction,
): FrontierOutcome {
  const { set, test, best, cheapest, zero, oracle } = frame;
  const curve = hull(sweep(set, test, test.map(predict), best.cost));
  const average = averageQuality(curve, cheapest.cost, best.cost);
  const costFor = (share: number): number => (costAt(curve, share * best.quality) ?? best.cost) / best.cost;
  return {
    averageQuality: average,
    gapClosed: (100 * (average - zero)) / (oracle - zero),
    maxQuality: (curve.at(-1)?.quality ?? 0) / best.quality,
    cost100: costFor(1),
    cost99: costFor(0.99),
    cost95: costFor(0.95),
  };
}

const methods: Readonly<Record<string, Method>> = { router, nearest, taskBuckets, shuffledLabels };
export type MethodName = 'router' | 'nearest' | 'taskBuckets' | 'shuffledLabels';

export interface Comparison {
  readonly frames: readonly EvaluationFrame[];
  readonly outcomes: Readonly<Record<MethodName, readonly FrontierOutcome[]>>;
}

/** Compares the router with the other methods on the same splits. */
export function compare(set: DataSet, seeds: readonly number[]): Comparison {
  const outcomes: Record<MethodName, FrontierOutcome[]> = {
    router: [],
    nearest: [],
    taskBuckets: [],
    shuffledLabels: [],
  };
  const frames = seeds.map((seed) => {
    const { train, test, random } = split(set, seed);
    const frame = frameOf(set, test);
    for (const [name, method] of Object.entries(methods))
      outcomes[name as MethodName].push(outcomeOf(frame, method(set, train, random)));
    return frame;
  });
  return { frames, outcomes };
}
