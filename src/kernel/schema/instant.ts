import { type Field, Misfit } from './field';
import { field } from './kinds';

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A day alone is its first instant in UTC; a time without a zone would mean something else on every machine. */
export function instantIn(value: unknown): Date | null {
  if (typeof value !== 'string' || !INSTANT.test(value) || !isDay(value.slice(0, 10))) return null;
  const instant = new Date(value);
  return Number.isNaN(instant.getTime()) ? null : instant;
}

/** `Date` takes 31 February for 3 March. */
const isDay = (day: string): boolean => {
  const at = Date.parse(day);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
};

const momentSchema = {
  anyOf: [
    { type: 'string', format: 'date' },
    { type: 'string', format: 'date-time' },
  ],
} as const;

/** A time without a zone is in UTC, as the pages say. */
const inUtc = (text: string): string => (/T\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : text);

/** A day or a time, as people type it. */
export function momentIn(given: unknown): { readonly text: string; readonly at: Date | null } {
  const text = typeof given === 'string' ? inUtc(given.trim()) : '';
  return { text, at: instantIn(text) };
}

export const moment: Field<Date> = field(
  momentSchema,
  (given) =>
    momentIn(given).at ??
    new Misfit('isIso8601', 'must be a day or a time, like 2027-01-31 or 2027-01-31T12:00:00Z'),
);
