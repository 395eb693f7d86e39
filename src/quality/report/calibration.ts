import { type Interval, MIN_SAMPLE_SIZE, meanOf } from '../../kernel';

interface CalibrationPoint {
  readonly predicted: number;
  readonly observed: number;
}

export interface CalibrationBin {
  readonly count: number;
  /** Null if there is not enough data, as for `observed`. */
  readonly predicted: number | null;
  readonly observed: Interval | null;
}

const BINS = 10;

export const calibrationBins = (points: readonly CalibrationPoint[]): CalibrationBin[] =>
  groupByBin(points).map((binPoints) => ({
    count: binPoints.length,
    predicted:
      binPoints.length < MIN_SAMPLE_SIZE ? null : average(binPoints.map(({ predicted }) => predicted)),
    observed: meanOf(binPoints.map(({ observed }) => ({ value: observed, weight: 1 }))),
  }));

/** Returns the mean distance of predictions from outcomes; null if there are too few. */
export function calibrationError(points: readonly CalibrationPoint[]): Interval | null {
  // Each prediction counts in the direction in which its bin deviates from the outcomes.
  const deviations = groupByBin(points).flatMap((binPoints) => {
    const errors = binPoints.map(({ predicted, observed }) => predicted - observed);
    const direction = Math.sign(average(errors));
    return errors.map((value) => ({ value: direction * value, weight: 1 }));
  });
  const error = meanOf(deviations);
  return error === null ? null : { ...error, low: Math.max(0, error.low) };
}

const groupByBin = (points: readonly CalibrationPoint[]): CalibrationPoint[][] =>
  [...Map.groupBy(points, ({ predicted }) => Math.min(BINS - 1, Math.floor(predicted * BINS)))]
    .sort(([one], [other]) => one - other)
    .map(([, within]) => within);

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
