/** Returns NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Interquartile range, which is robust against other load during single rounds. */
export interface Spread {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

export const spreadOf = (values: readonly number[]): Spread => ({
  low: quantile(values, 0.25),
  middle: quantile(values, 0.5),
  high: quantile(values, 0.75),
});
