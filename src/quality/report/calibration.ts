import { type Interval, LEAST_SAMPLE, meanOf } from '../../kernel';

interface CalibrationPoint {
  readonly predicted: number;
  readonly observed: number;
}

export interface CalibrationBin {
  readonly count: number;
  /** Null: not enough data, as is the next one. */
  readonly predicted: number | null;
  readonly observed: Interval | null;
}

const BINS = 10;

/** Predictions stand beside what came true, in tenths of the scale. */
export const calibrationBins = (points: readonly CalibrationPoint[]): CalibrationBin[] =>
  binned(points).map((within) => ({
    count: within.length,
    predicted: within.length < LEAST_SAMPLE ? null : average(within.map(({ predicted }) => predicted)),
    observed: meanOf(within.map(({ observed }) => ({ value: observed, weight: 1 }))),
  }));

/** Predictions lie so far beside what came true, on the average; null where there are too few. */
export function calibrationError(points: readonly CalibrationPoint[]): Interval | null {
  // Each prediction counts in the direction in which its tenth lies beside the truth.
  const apart = binned(points).flatMap((within) => {
    const off = within.map(({ predicted, observed }) => predicted - observed);
    const direction = Math.sign(average(off));
    return off.map((value) => ({ value: direction * value, weight: 1 }));
  });
  const error = meanOf(apart);
  return error === null ? null : { ...error, low: Math.max(0, error.low) };
}

const binned = (points: readonly CalibrationPoint[]): CalibrationPoint[][] =>
  [...Map.groupBy(points, ({ predicted }) => Math.min(BINS - 1, Math.floor(predicted * BINS)))]
    .sort(([one], [other]) => one - other)
    .map(([, within]) => within);

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
