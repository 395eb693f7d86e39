import { type InputField, FieldError } from './field';
import { field } from './kinds';

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A day is its first instant in UTC; a time must have a zone, or its meaning would depend on the machine. */
export function instantIn(value: unknown): Date | null {
  if (typeof value !== 'string' || !INSTANT.test(value) || !isDay(value.slice(0, 10))) return null;
  const instant = new Date(value);
  return Number.isNaN(instant.getTime()) ? null : instant;
}

/** `Date` reads 31 February as 3 March. */
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

/** A time without a zone is in UTC, as the pages state. */
const inUtc = (text: string): string => (/T\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : text);

/** A day or a time, as users type it. */
export function momentIn(input: unknown): { readonly text: string; readonly at: Date | null } {
  const text = typeof input === 'string' ? inUtc(input.trim()) : '';
  return { text, at: instantIn(text) };
}

export const moment: InputField<Date> = field(
  momentSchema,
  (input) =>
    momentIn(input).at ??
    new FieldError('isIso8601', 'must be a day or a time, like 2027-01-31 or 2027-01-31T12:00:00Z'),
);
