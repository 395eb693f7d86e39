import { readJsonText } from '../../../kernel';

/** A number as it is written: `1e-05` is a price, and a float would make another one of it. */
class Decimal {
  constructor(readonly text: string) {}
}

/** It reads JSON with every number as a Decimal. */
export const parseExactly = (text: string): unknown =>
  readJsonText(text, { numberOf: (written) => new Decimal(written) });

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none where it is not one. */
export function fieldsOf(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && !(value instanceof Decimal) ? (value as Fields) : {};
}

/** A number, also one that is written as a text; undefined where there is none. */
export function decimalText(value: unknown): string | undefined {
  if (value instanceof Decimal) return value.text;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count of tokens; null where there is none that makes sense. */
export function countOf(value: unknown): number | null {
  const count = Number(decimalText(value) ?? Number.NaN);
  return Number.isSafeInteger(count) && count > 0 && count <= 2_147_483_647 ? count : null;
}

export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
