import { type Nano, parseUsd } from '../money';
import { type InputField, FieldError } from './field';
import type { JsonSchema } from './json-schema';
import { field, isPlainLine, isWellFormed, plainLineDescription } from './kinds';

/** Field kinds that only bodies have. */

const booleanValues = new Map<unknown, boolean>([
  ...['on', 'true', true].map((word) => [word, true] as const),
  ...['off', 'false', false].map((word) => [word, false] as const),
]);

/** Accepts `on` or `off` of a form, or a boolean. */
export const trueOrFalse: InputField<boolean> = field(
  { type: 'boolean' },
  (input): boolean | FieldError =>
    booleanValues.get(input) ?? new FieldError('isBoolean', 'must be true or false'),
);

const flagValues = new Map<unknown, boolean>([
  ...booleanValues,
  ...['yes', '1'].map((word) => [word, true] as const),
  ...['no', '0', ''].map((word) => [word, false] as const),
]);

/** Accepts a checkbox with a hidden `off` before it, a word for it, or a boolean. */
export const flag: InputField<boolean> = field({ type: 'boolean' }, (input): boolean | FieldError => {
  const last: unknown = Array.isArray(input) ? input.at(-1) : input;
  return flagValues.get(last) ?? new FieldError('isBoolean', 'must be true or false');
});

export function nonEmptyLine(max: number, min = 1): InputField<string> {
  const missing = new FieldError('isString', `must be ${plainLineDescription}`);
  const invisible = new FieldError('matches', missing.msg);
  const short = new FieldError('minLength', `must be longer than or equal to ${min} characters`);
  const long = new FieldError('maxLength', `must be shorter than or equal to ${max} characters`);
  return field({ type: 'string', minLength: min, maxLength: max }, (input): string | FieldError => {
    const text = typeof input === 'string' ? input.trim() : '';
    if (text === '') return missing;
    if (!isPlainLine(text)) return invisible;
    if (text.length < min) return short;
    return text.length > max ? long : text;
  });
}

export function multilineText(max: number): InputField<string> {
  const long = new FieldError('maxLength', `must be shorter than or equal to ${max} characters`);
  const error = new FieldError('isString', 'must be a text');
  return field({ type: 'string', maxLength: max }, (input): string | FieldError => {
    if (typeof input !== 'string' || input.includes('\0') || !isWellFormed(input)) return error;
    return input.length > max ? long : input;
  });
}

export function decimal(min: number, max: number): InputField<number> {
  const error = new FieldError('isNumber', `must be a number from ${min} to ${max}`);
  const below = new FieldError('min', `must not be less than ${min}`);
  const above = new FieldError('max', `must not be greater than ${max}`);
  return field({ type: 'number', minimum: min, maximum: max }, (input): number | FieldError => {
    const number =
      typeof input === 'string' && /^\d{1,15}([.,]\d{1,15})?$/.test(input)
        ? Number(input.replace(',', '.'))
        : input;
    if (typeof number !== 'number' || !Number.isFinite(number)) return error;
    if (number < min) return below;
    return number > max ? above : number;
  });
}

const invalidDollars = new FieldError('isDollars', 'must be an amount of US dollars, like 12.50');

function nanoIn(amount: unknown): Nano | FieldError {
  if (typeof amount !== 'string' && typeof amount !== 'number') return invalidDollars;
  try {
    const nano = parseUsd(amount);
    return nano < 0n ? invalidDollars : nano;
  } catch (error) {
    if (error instanceof RangeError) return invalidDollars;
    throw error;
  }
}

const amountSchema = (pattern: RegExp): JsonSchema => ({
  type: ['number', 'string'],
  minimum: 0,
  pattern: pattern.source,
});

/** Dollars as a text, with up to `digits` digits before the point. */
export function dollarText(digits = 9): InputField<string> {
  const pattern = new RegExp(`^\\d{1,${digits}}(\\.\\d{1,9})?$`);
  return field(amountSchema(pattern), (input): string | FieldError => {
    const text = typeof input === 'number' ? String(input) : input;
    return typeof text === 'string' && pattern.test(text) ? text : invalidDollars;
  });
}

/** Exact to the billionth. */
export const dollars: InputField<Nano> = field(amountSchema(/^\d{1,9}(\.\d{1,9})?$/), nanoIn);

/** Dollars as users type them: with a decimal comma in most of Europe. */
export const typedDollars: InputField<Nano> = field(amountSchema(/^\d{1,9}([.,]\d{1,9})?$/), (input) =>
  nanoIn(typeof input === 'string' ? input.trim().replace(',', '.') : input),
);

/** A list; a form repeats its field, and sends a single item as a text. */
export function listOf<Item>(item: InputField<Item>, max: number, min = 0): InputField<Item[]> {
  const error = new FieldError('isArray', `must be a list of ${min} to ${max}`);
  return field(
    { type: 'array', items: item.schema, maxItems: max, ...(min === 0 ? {} : { minItems: min }) },
    (input): Item[] | FieldError => {
      const parts: unknown[] | null = Array.isArray(input)
        ? input
        : typeof input === 'string'
          ? [input]
          : null;
      if (parts === null || parts.length < min || parts.length > max) return error;
      const items = parts.map((part) => item.read(part));
      return items.find((result) => result instanceof FieldError) ?? (items as Item[]);
    },
  );
}

/** A list, or a text split at commas and spaces. */
export function wordsOf(item: InputField<string>, max: number): InputField<string[]> {
  const list = listOf(item, max);
  return field(list.schema, (input) =>
    list.read(typeof input === 'string' ? input.split(/[\s,]+/).filter((word) => word !== '') : input),
  );
}
