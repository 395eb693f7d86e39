import { fault } from '../errors';
import { parseUsd } from '../money';

/** A million tokens, as a power of ten. */
const TOKENS_EXPONENT = 6;
const WITH_EXPONENT = /^(.*?)(?:[eE]([+-]?\d{1,3}))?$/;

/** `"0.15"` USD for a million tokens → 150,000,000 nano-USD, exactly. `formatUsd` is the way back. */
export function parseUsdPerMillion(text: string): bigint {
  return parseRate(text, text);
}

/** `"1.5e-07"` USD for one token → 150,000,000 nano-USD for a million, exactly. */
export function parseUsdPerToken(text: string): bigint {
  const [, mantissa = '', exponent = '0'] = WITH_EXPONENT.exec(text) ?? [];
  return parseRate(text, `${mantissa}e${Number(exponent) + TOKENS_EXPONENT}`);
}

/** `"1.1"` → 1,100,000 millionths, exactly. `formatMultiplier` is the way back. */
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

function parseRate(given: string, dollarsPerMillion: string): bigint {
  try {
    const rate = parseUsd(dollarsPerMillion);
    if (rate >= 0n) return rate;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw fault('validation_error', {
    message: `"${given.slice(0, 40)}" is not a price in US dollars with at most nine decimals.`,
  });
}
