import {
  averageQuality,
  type Belief,
  bestOf,
  cheapestOf,
  costAt,
  costOf,
  hull,
  mean,
  type Point,
  singles,
  sweep,
} from './curve';
import type { DataSet, Row } from './data';
import { nearest, router, shuffledLabels, taskBuckets, type Method } from './methods';
import { randomOf, shuffled } from './random';

/** Any method reaches points within this frame, between the zero router and the oracle, on the prompts kept back. */
export interface Frame {
  readonly set: DataSet;
  readonly test: readonly Row[];
  readonly best: Point;
  readonly cheapest: Point;
  readonly random: Point;
  readonly zero: number;
  readonly oracle: number;
}

export interface Outcome {
  /** Mean quality between the costs of the cheapest and the best single model. */
  readonly averageQuality: number;
  /** Of what the oracle has over the zero router, in percent. */
  readonly gapClosed: number;
  readonly mostQuality: number;
  /** Cost over that of the best single model at this share of its quality; 1 where the curve does not get there. */
  readonly cost100: number;
  readonly cost99: number;
  readonly cost95: number;
}

export function split(
  set: DataSet,
  seed: number,
  share = 0.7,
): { train: Row[]; test: Row[]; random: () => number } {
  const random = randomOf(seed);
  const rows = shuffled(set.rows, random);
  const cut = Math.floor(rows.length * share);
  return { train: rows.slice(0, cut), test: rows.slice(cut), random };
}

export function frameOf(set: DataSet, test: readonly Row[]): Frame {
  const each = singles(set, test);
  const [best, cheapest] = [bestOf(each), cheapestOf(each)];
  const known: Belief[] = test.map((row) => ({
    quality: row.scores,
    cost: set.models.map((_, model) => costOf(set, row, model)),
  }));
  const average = (points: readonly Point[]): number =>
    averageQuality(hull(points), cheapest.cost, best.cost);
  return {
    set,
    test,
    best,
    cheapest,
    random: { quality: mean(each.map(({ quality }) => quality)), cost: mean(each.map(({ cost }) => cost)) },
    zero: average(each),
    oracle: average(sweep(set, test, known, best.cost)),
  };
}

export function outcomeOf(frame: Frame, believe: (row: Row) => Belief): Outcome {
  const { set, test, best, cheapest, zero, oracle } = frame;
  const curve = hull(sweep(set, test, test.map(believe), best.cost));
  const average = averageQuality(curve, cheapest.cost, best.cost);
  const costFor = (share: number): number => (costAt(curve, share * best.quality) ?? best.cost) / best.cost;
  return {
    averageQuality: average,
    gapClosed: (100 * (average - zero)) / (oracle - zero),
    mostQuality: (curve.at(-1)?.quality ?? 0) / best.quality,
    cost100: costFor(1),
    cost99: costFor(0.99),
    cost95: costFor(0.95),
  };
}

const methods: Readonly<Record<string, Method>> = { router, nearest, taskBuckets, shuffledLabels };
export type MethodName = 'router' | 'nearest' | 'taskBuckets' | 'shuffledLabels';

export interface Compared {
  readonly frames: readonly Frame[];
  readonly outcomes: Readonly<Record<MethodName, readonly Outcome[]>>;
}

/** The router beside the other methods, on the same splits. */
export function compare(set: DataSet, seeds: readonly number[]): Compared {
  const outcomes: Record<MethodName, Outcome[]> = {
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
