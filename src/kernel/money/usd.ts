/** An amount of money in billionths of a US dollar. */
export type Nano = bigint;

export const nanoPerUsd = 1_000_000_000n;
export const nanoPerCent = 10_000_000n;

const decimals = 9;
/** Maximum of a 64-bit database column, about 9.2 billion dollars. */
const maxNano = 2n ** 63n - 1n;
const decimalText = /^(-?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * Parses dollars exactly, from a decimal text or a JSON number, and never rounds. Throws a RangeError for other input,
 * more than nine decimals, or more than 64 bits of nano-dollars.
 */
export function parseUsd(value: string | number): Nano {
  const text = typeof value === 'number' ? String(value) : value;
  const match = decimalText.exec(text);
  if (!match) throw new RangeError('an amount must be a decimal number, like 12.50');
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals - fraction.length + Number(exponent);
  const nano = shifted(BigInt(whole + fraction), shift);
  if (nano > maxNano) throw new RangeError('the amount is too large');
  return sign === '-' ? -nano : nano;
}

function shifted(digits: bigint, shift: number): bigint {
  if (digits === 0n || shift === 0) return digits;
  if (shift > 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  if (digits % divisor !== 0n) throw new RangeError('an amount has at most nine decimals');
  return digits / divisor;
}

/**
 * Formats dollars exactly and without trailing zeros, or with `fixed` decimals, rounded half away from zero for
 * display.
 */
export function formatUsd(nano: Nano, { fixed }: { fixed?: number } = {}): string {
  const magnitude = nano < 0n ? -nano : nano;
  if (fixed === undefined) return withSign(nano, withoutZeros(decimalsOf(magnitude, decimals)));
  if (!Number.isInteger(fixed) || fixed < 0 || fixed > decimals) throw new RangeError('0 to 9 decimals');
  const unit = 10n ** BigInt(decimals - fixed);
  const rounded = (magnitude + unit / 2n) / unit;
  return withSign(rounded === 0n ? 0n : nano, decimalsOf(rounded, fixed));
}

const withSign = (amount: bigint, text: string): string => (amount < 0n ? `-${text}` : text);

function decimalsOf(magnitude: bigint, places: number): string {
  const text = magnitude.toString().padStart(places + 1, '0');
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
}

function withoutZeros(text: string): string {
  let end = text.length;
  while (text[end - 1] === '0') end -= 1;
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end);
}

/** For JSON fields such as `cost_usd`, for display only: exact up to a million dollars. */
export const toJsonNumber = (nano: Nano): number => Number(formatUsd(nano));
