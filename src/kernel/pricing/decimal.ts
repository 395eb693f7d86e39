import { fault } from '../errors';
import { parseUsd } from '../money';

/** A million tokens, as a power of ten. */
const TOKENS_EXPONENT = 6;
const WITH_EXPONENT = /^(.*?)(?:[eE]([+-]?\d{1,3}))?$/;

/** Parses `"0.15"` USD per million tokens as 150,000,000 nano-USD, exactly. `formatUsd` is the inverse. */
export function parseUsdPerMillion(text: string): bigint {
  return parseRate(text, text);
}

/** `"1.5e-07"` USD per token is exactly 150,000,000 nano-USD per million. */
export const parseUsdPerToken = (text: string): bigint => parseShifted(text, TOKENS_EXPONENT);

/** `"2.50"` USD per thousand is exactly 2,500,000 nano-USD each. */
export const parseUsdPerThousand = (text: string): bigint => parseShifted(text, -3);

/** Additional decimals beyond those of an amount. */
const FINE_EXPONENT = 9;

/** Price in nano-USD of `count` units at `"1.9e-08"` USD each, exact to eighteen decimals, then rounded up once. */
export function parseUsdTimes(text: string, count: bigint): bigint {
  const unit = 10n ** BigInt(FINE_EXPONENT);
  return (parseShifted(text, FINE_EXPONENT) * count + unit - 1n) / unit;
}

function parseShifted(text: string, places: number): bigint {
  const [, mantissa = '', exponent = '0'] = WITH_EXPONENT.exec(text) ?? [];
  return parseRate(text, `${mantissa}e${Number(exponent) + places}`);
}

/** Parses `"1.1"` as 1,100,000 millionths, exactly. `formatMultiplier` is the inverse. */
export function parseMultiplier(text: string): bigint {
  const [, whole = '', fraction = ''] = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole !== '') return BigInt(whole + fraction.padEnd(6, '0'));
  throw fault('validation_error', {
    message: `"${text.slice(0, 40)}" is not a multiplier: a decimal number with at most six decimals.`,
  });
}

export function formatMultiplier(millionths: bigint): string {
  const digits = millionths.toString().padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`;
}

function parseRate(input: string, dollarsPerMillion: string): bigint {
  try {
    const rate = parseUsd(dollarsPerMillion);
    if (rate >= 0n) return rate;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw fault('validation_error', {
    message: `"${input.slice(0, 40)}" is not a price in US dollars with at most nine decimals.`,
  });
}
