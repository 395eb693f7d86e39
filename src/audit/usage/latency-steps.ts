/**
 * Upper bounds of the latency histogram's buckets in milliseconds, each about 1.7 times the one before. The last bucket
 * is open.
 */
const upperBounds = [
  40, 70, 120, 210, 360, 620, 1_100, 1_900, 3_200, 5_500, 9_500, 16_500, 28_500, 60_000, 180_000,
] as const;

export const latencyColumns: readonly string[] = Array.from(
  { length: upperBounds.length + 1 },
  (_, step) => `latency_${step}`,
);

export const latencyConditions: readonly ((column: string) => string)[] = latencyColumns.map(
  (_, step) => (column) => {
    const max = upperBounds[step];
    const min = (upperBounds[step - 1] ?? -1) + 1;
    if (max === undefined) return `${column} >= ${min}`;
    return step === 0 ? `${column} <= ${max}` : `${column} BETWEEN ${min} AND ${max}`;
  },
);

export const latencyStep = (column: string): string =>
  `width_bucket(${column}, '{${upperBounds.map((max) => max + 1).join(',')}}'::integer[])`;

/**
 * Approximate quantile; within a bucket, requests are assumed to be spread evenly on a logarithmic scale. Null without
 * requests, and the lower bound for the last bucket.
 */
export function latencyQuantile(steps: readonly number[], share: number): number | null {
  const total = steps.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let remaining = share * total;
  for (const [step, count] of steps.entries()) {
    if (count > 0 && remaining <= count) return withinStep(step, remaining / count);
    remaining -= count;
  }
  return upperBounds.at(-1) ?? null;
}

function withinStep(step: number, fraction: number): number {
  const min = upperBounds[step - 1] ?? 1;
  const max = upperBounds[step] ?? min;
  return Math.round(min * (max / min) ** fraction);
}
