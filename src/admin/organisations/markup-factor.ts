export const MILLIONTHS_PER_PERCENT = 10_000;
export const FULL_PRICE_FACTOR = 1_000_000;

/** Formats a factor like `+10 %` or `−5 %`. */
export function percentOf(factor: number): string {
  const percent = (factor - FULL_PRICE_FACTOR) / MILLIONTHS_PER_PERCENT;
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent)} %`;
}
