/**
 * The upper bound of each bucket of the latency histogram in milliseconds, about 1.7 times the one before. The last
 * bucket is open.
 */
const longest = [
  40, 70, 120, 210, 360, 620, 1_100, 1_900, 3_200, 5_500, 9_500, 16_500, 28_500, 60_000, 180_000,
] as const;

export const latencyColumns: readonly string[] = Array.from(
  { length: longest.length + 1 },
  (_, step) => `latency_${step}`,
);

/** Each condition says that a column of milliseconds falls into a step. */
export const latencyConditions: readonly ((column: string) => string)[] = latencyColumns.map(
  (_, step) => (column) => {
    const most = longest[step];
    const least = (longest[step - 1] ?? -1) + 1;
    if (most === undefined) return `${column} >= ${least}`;
    return step === 0 ? `${column} <= ${most}` : `${column} BETWEEN ${least} AND ${most}`;
  },
);

/** The step of a column of milliseconds. */
export const latencyStep = (column: string): string =>
  `width_bucket(${column}, '{${longest.map((most) => most + 1).join(',')}}'::integer[])`;

/**
 * An approximate quantile: within its bucket, requests are assumed to be spread evenly on a logarithmic
 * scale. It is null without any, and in the last bucket its lower bound.
 */
export function latencyQuantile(steps: readonly number[], share: number): number | null {
  const all = steps.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = share * all;
  for (const [step, count] of steps.entries()) {
    if (count > 0 && left <= count) return withinStep(step, left / count);
    left -= count;
  }
  return longest.at(-1) ?? null;
}

function withinStep(step: number, part: number): number {
  const least = longest[step - 1] ?? 1;
  const most = longest[step] ?? least;
  return Math.round(least * (most / least) ** part);
}
