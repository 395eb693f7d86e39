import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface WeightedValue {
  readonly value: number;
  /** Inverse of the sampling probability. */
  readonly weight: number;
}

/** Minimum number of rows for a result. */
export const MIN_SAMPLE_SIZE = 20;

/** The 97.5 % quantile of the normal distribution. */
const NORMAL_QUANTILE = 1.959_964;

const RESAMPLES = 1_000;
/** Above this number of pairs, the means of resamples are practically normal. */
const MAX_RESAMPLED_PAIRS = 1_000;
/** A few milliseconds of work on a slow machine, then other work gets its turn. */
const DRAWS_PER_SLICE = 50_000;

/** Weighted mean with Student's interval over the effective number of rows; null if there are too few. */
export function meanOf(rows: readonly WeightedValue[]): Interval | null {
  if (rows.length < MIN_SAMPLE_SIZE) return null;
  const { mean, deviation, effective } = momentsOf(rows);
  const margin = (studentQuantile(effective - 1) * deviation) / Math.sqrt(effective);
  return { value: mean, low: mean - margin, high: mean + margin };
}

export interface WeightedPair extends WeightedValue {
  readonly other: number;
}

/** Ratio of the weighted means of `value` and `other`, by linearisation; null if there are too few pairs. */
export function ratioOf(pairs: readonly WeightedPair[]): Interval | null {
  if (pairs.length < MIN_SAMPLE_SIZE) return null;
  const base = momentsOf(pairs.map(({ other, weight }) => ({ value: other, weight }))).mean;
  if (!(base > 0)) return null;
  const ratio = momentsOf(pairs).mean / base;
  const spread = meanOf(
    pairs.map(({ value, other, weight }) => ({ value: (value - ratio * other) / base, weight })),
  );
  const margin = spread === null ? 0 : spread.high - spread.value;
  return { value: ratio, low: Math.max(0, ratio - margin), high: ratio + margin };
}

interface PairedComparison {
  readonly interval: Interval;
  /** Probability of a difference this large if there is none. */
  readonly chance: number;
}

/**
 * Mean difference of paired values; null if there are too few. Pairs are resampled up to a limit; beyond it Student's
 * interval is equivalent.
 */
export async function comparePairs(
  pairs: readonly WeightedValue[],
  seed = 1,
): Promise<PairedComparison | null> {
  const student = meanOf(pairs);
  if (student === null) return null;
  if (pairs.length > MAX_RESAMPLED_PAIRS) return { interval: student, chance: studentChance(pairs) };
  const means = await resampleMeans(pairs, seed);
  const interval = { value: student.value, low: quantile(means, 0.025), high: quantile(means, 0.975) };
  return { interval, chance: resampledChance(means) };
}

function resampledChance(means: Float64Array): number {
  const below = means.filter((mean) => mean <= 0).length;
  const above = means.filter((mean) => mean >= 0).length;
  // Never zero: more resamples might have found one.
  return Math.min(1, (2 * (Math.min(below, above) + 1)) / (RESAMPLES + 1));
}

/** Two-tailed probability of Student's distribution, by a normal approximation. */
function studentChance(rows: readonly WeightedValue[]): number {
  const { mean, deviation, effective } = momentsOf(rows);
  const degrees = Math.max(1, effective - 1);
  const t = Math.abs(mean) / (deviation / Math.sqrt(effective));
  if (Number.isNaN(t)) return 1;
  if (t === Infinity) return 0;
  return normalTails((t * (1 - 1 / (4 * degrees))) / Math.sqrt(1 + t ** 2 / (2 * degrees)));
}

/** Two-tailed normal probability, to seven digits, by Hastings. */
function normalTails(distance: number): number {
  const x = distance / Math.SQRT2;
  const t = 1 / (1 + 0.327_591_1 * x);
  const series =
    t *
    (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
  return Math.min(1, series * Math.exp(-(x ** 2)));
}

/** Marks the differences that remain significant among all those tested, by Benjamini and Hochberg. */
export function discoveries(chances: readonly number[], falseShare = 0.1): boolean[] {
  const sorted = [...chances].sort((a, b) => a - b);
  const bounds = sorted.filter((chance, index) => chance <= ((index + 1) / sorted.length) * falseShare);
  const bound = bounds.at(-1) ?? -1;
  return chances.map((chance) => chance <= bound);
}

export interface LengthPair extends WeightedValue {
  /** Logarithm of the ratio of the two replies' lengths. */
  readonly lengthRatio: number;
}

/** Difference at equal reply length, by linearisation; null if lengths do not vary or there are too few pairs. */
export function lengthControlled(pairs: readonly LengthPair[]): Interval | null {
  if (pairs.length < MIN_SAMPLE_SIZE) return null;
  const total = pairs.reduce((sum, { weight }) => sum + weight, 0);
  const mean = (of: (pair: LengthPair) => number): number =>
    pairs.reduce((sum, pair) => sum + pair.weight * of(pair), 0) / total;
  const [value, ratio] = [mean((pair) => pair.value), mean((pair) => pair.lengthRatio)];
  const variance = mean((pair) => (pair.lengthRatio - ratio) ** 2);
  if (variance < 1e-9) return null;
  const slope = mean((pair) => (pair.lengthRatio - ratio) * (pair.value - value)) / variance;
  const adjusted = value - slope * ratio;
  const spread = meanOf(
    pairs.map((pair) => {
      const deviation = pair.lengthRatio - ratio;
      const unexplained = pair.value - value - slope * deviation;
      return { value: unexplained * (1 - (ratio * deviation) / variance), weight: pair.weight };
    }),
  );
  const margin = spread === null ? 0 : spread.high - spread.value;
  return { value: adjusted, low: adjusted - margin, high: adjusted + margin };
}

/** Share with Wilson's interval; null if there are too few. */
export function shareOf(matches: number, count: number): Interval | null {
  if (count < MIN_SAMPLE_SIZE) return null;
  const value = matches / count;
  const square = NORMAL_QUANTILE ** 2 / count;
  const middle = (value + square / 2) / (1 + square);
  const margin =
    (NORMAL_QUANTILE * Math.sqrt((value * (1 - value)) / count + square / (4 * count))) / (1 + square);
  return { value, low: middle - margin, high: middle + margin };
}

/** Quantile of the rows with Woodruff's interval; null if there are too few rows to bound it. */
export function quantileOf(rows: readonly WeightedValue[], share: number): Interval | null {
  if (rows.length < MIN_SAMPLE_SIZE) return null;
  const margin = NORMAL_QUANTILE * Math.sqrt((share * (1 - share)) / momentsOf(rows).effective);
  if (share - margin <= 0 || share + margin >= 1) return null;
  const sorted = [...rows].sort((one, other) => one.value - other.value);
  const total = rows.reduce((sum, { weight }) => sum + weight, 0);
  const [low, value, high] = [share - margin, share, share + margin].map((part) => {
    let below = 0;
    return sorted.find(({ weight }) => (below += weight) >= part * total)?.value ?? sorted.at(-1)!.value;
  });
  return { value: value!, low: low!, high: high! };
}

function momentsOf(rows: readonly WeightedValue[]): { mean: number; deviation: number; effective: number } {
  const total = rows.reduce((sum, { weight }) => sum + weight, 0);
  const squares = rows.reduce((sum, { weight }) => sum + weight ** 2, 0);
  const mean = rows.reduce((sum, { value, weight }) => sum + value * weight, 0) / total;
  const effective = total ** 2 / squares;
  const spread = rows.reduce((sum, { value, weight }) => sum + weight * (value - mean) ** 2, 0) / total;
  const unbiased = effective > 1 ? (spread * effective) / (effective - 1) : 0;
  return { mean, deviation: Math.sqrt(unbiased), effective };
}

/** Means of resamples, sorted. */
async function resampleMeans(rows: readonly WeightedValue[], seed: number): Promise<Float64Array> {
  const random = randomFrom(seed);
  const weights = Float64Array.from(rows, ({ weight }) => weight);
  const products = Float64Array.from(rows, ({ value, weight }) => value * weight);
  const means = new Float64Array(RESAMPLES);
  let drawn = 0;
  for (let index = 0; index < RESAMPLES; index += 1) {
    let [sum, total] = [0, 0];
    for (let row = 0; row < rows.length; row += 1) {
      const draw = Math.floor(random() * rows.length);
      sum += products[draw]!;
      total += weights[draw]!;
    }
    means[index] = sum / total;
    drawn += rows.length;
    if (drawn < DRAWS_PER_SLICE) continue;
    drawn = 0;
    await nextTurn();
  }
  return means.sort();
}

const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;

/** 97.5 % quantile of Student's distribution, by Cornish and Fisher; accurate to 0.01 from five degrees on. */
function studentQuantile(degrees: number): number {
  const z = NORMAL_QUANTILE;
  const n = Math.max(1, degrees);
  return (
    z +
    (z ** 3 + z) / (4 * n) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * n ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * n ** 3)
  );
}

/** Returns the same draws for the same seed, so that a repeated report gives the same result. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
