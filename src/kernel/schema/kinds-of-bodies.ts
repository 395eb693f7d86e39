import { type Nano, parseUsd } from '../money';
import { type Field, Misfit } from './field';
import type { Schema } from './json-schema';
import { field, isPlainLine, isWhole, plainLineWords } from './kinds';

/** Only bodies have these kinds of fields. */

const truths = new Map<unknown, boolean>([
  ...['on', 'true', true].map((word) => [word, true] as const),
  ...['off', 'false', false].map((word) => [word, false] as const),
]);

/** It is on or off, in a form or in JSON. */
export const truth: Field<boolean> = field(
  { type: 'boolean' },
  (given): boolean | Misfit => truths.get(given) ?? new Misfit('isBoolean', 'must be true or false'),
);

const words = new Map<unknown, boolean>([
  ...truths,
  ...['yes', '1'].map((word) => [word, true] as const),
  ...['no', '0', ''].map((word) => [word, false] as const),
]);

/** A checkbox with a hidden `off` before it, the word for it, or a boolean. */
export const flag: Field<boolean> = field({ type: 'boolean' }, (given): boolean | Misfit => {
  const last: unknown = Array.isArray(given) ? given.at(-1) : given;
  return words.get(last) ?? new Misfit('isBoolean', 'must be true or false');
});

/** A line with something in it; the spaces around it are left out. */
export function filled(most: number, least = 1): Field<string> {
  const none = new Misfit('isString', `must be ${plainLineWords}`);
  const forged = new Misfit('matches', none.msg);
  const short = new Misfit('minLength', `must be longer than or equal to ${least} characters`);
  const long = new Misfit('maxLength', `must be shorter than or equal to ${most} characters`);
  return field({ type: 'string', minLength: least, maxLength: most }, (given): string | Misfit => {
    const text = typeof given === 'string' ? given.trim() : '';
    if (text === '') return none;
    if (!isPlainLine(text)) return forged;
    if (text.length < least) return short;
    return text.length > most ? long : text;
  });
}

/** A text of several lines. */
export function lines(most: number): Field<string> {
  const long = new Misfit('maxLength', `must be shorter than or equal to ${most} characters`);
  const misfit = new Misfit('isString', 'must be a text');
  return field({ type: 'string', maxLength: most }, (given): string | Misfit => {
    if (typeof given !== 'string' || given.includes('\0') || !isWhole(given)) return misfit;
    return given.length > most ? long : given;
  });
}

/** A number with decimals, as JSON or as a form writes it. */
export function decimal(least: number, most: number): Field<number> {
  const misfit = new Misfit('isNumber', `must be a number from ${least} to ${most}`);
  const below = new Misfit('min', `must not be less than ${least}`);
  const above = new Misfit('max', `must not be greater than ${most}`);
  return field({ type: 'number', minimum: least, maximum: most }, (given): number | Misfit => {
    const number =
      typeof given === 'string' && /^\d{1,15}([.,]\d{1,15})?$/.test(given)
        ? Number(given.replace(',', '.'))
        : given;
    if (typeof number !== 'number' || !Number.isFinite(number)) return misfit;
    if (number < least) return below;
    return number > most ? above : number;
  });
}

const noDollars = new Misfit('isDollars', 'must be an amount of US dollars, like 12.50');

function nanoIn(amount: unknown): Nano | Misfit {
  if (typeof amount !== 'string' && typeof amount !== 'number') return noDollars;
  try {
    const nano = parseUsd(amount);
    return nano < 0n ? noDollars : nano;
  } catch (error) {
    if (error instanceof RangeError) return noDollars;
    throw error;
  }
}

const amountSchema = (pattern: RegExp): Schema => ({
  type: ['number', 'string'],
  minimum: 0,
  pattern: pattern.source,
});

/** The same as it is written, with so many digits before its point. */
export function dollarText(digits = 9): Field<string> {
  const pattern = new RegExp(`^\\d{1,${digits}}(\\.\\d{1,9})?$`);
  return field(amountSchema(pattern), (given): string | Misfit => {
    const text = typeof given === 'number' ? String(given) : given;
    return typeof text === 'string' && pattern.test(text) ? text : noDollars;
  });
}

/** It is exact to the billionth. */
export const dollars: Field<Nano> = field(amountSchema(/^\d{1,9}(\.\d{1,9})?$/), nanoIn);

/** The same, as people type it: with a comma in most of Europe. */
export const typedDollars: Field<Nano> = field(amountSchema(/^\d{1,9}([.,]\d{1,9})?$/), (given) =>
  nanoIn(typeof given === 'string' ? given.trim().replace(',', '.') : given),
);

/** A list. A form repeats its field, and says one of it as a text. */
export function listOf<Item>(item: Field<Item>, most: number, least = 0): Field<Item[]> {
  const misfit = new Misfit('isArray', `must be a list of ${least} to ${most}`);
  return field(
    { type: 'array', items: item.schema, maxItems: most, ...(least === 0 ? {} : { minItems: least }) },
    (given): Item[] | Misfit => {
      const parts: unknown[] | null = Array.isArray(given)
        ? given
        : typeof given === 'string'
          ? [given]
          : null;
      if (parts === null || parts.length < least || parts.length > most) return misfit;
      const items = parts.map((part) => item.read(part));
      return items.find((read) => read instanceof Misfit) ?? (items as Item[]);
    },
  );
}

/** A list, or words of a text with commas or spaces between. */
export function wordsOf(item: Field<string>, most: number): Field<string[]> {
  const list = listOf(item, most);
  return field(list.schema, (given) =>
    list.read(typeof given === 'string' ? given.split(/[\s,]+/).filter((word) => word !== '') : given),
  );
}
