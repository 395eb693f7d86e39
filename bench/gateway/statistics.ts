/** Of an empty list there is nothing to say. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The middle half: what other work on the machine did to single rounds does not widen it. */
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
