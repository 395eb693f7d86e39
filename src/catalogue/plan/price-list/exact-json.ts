import { readJsonText } from '../../../kernel';

/** A number as written: `1e-05` is a price, and a float would change it. */
class Decimal {
  constructor(readonly text: string) {}
}

export const parseExactly = (text: string): unknown =>
  readJsonText(text, { numberOf: (digits) => new Decimal(digits) });

export type ExactFields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object; empty for any other value. */
export function fieldsOf(value: unknown): ExactFields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && !(value instanceof Decimal) ? (value as ExactFields) : {};
}

/** Returns a number, including one written as text; undefined if there is none. */
export function decimalText(value: unknown): string | undefined {
  if (value instanceof Decimal) return value.text;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a number of tokens; null if there is no valid one. */
export function countOf(value: unknown): number | null {
  const count = Number(decimalText(value) ?? Number.NaN);
  return Number.isSafeInteger(count) && count > 0 && count <= 2_147_483_647 ? count : null;
}

export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
