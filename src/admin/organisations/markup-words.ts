export const MILLIONTHS_A_PERCENT = 10_000;
export const WHOLE_PRICE = 1_000_000;

/** It reads like `+10 %` or `−5 %`. */
export function percentOf(factor: number): string {
  const percent = (factor - WHOLE_PRICE) / MILLIONTHS_A_PERCENT;
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent)} %`;
}
