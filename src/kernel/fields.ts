import { type Fault, fault } from './errors';
import { type Fields, instantIn, isPlainLine, Misfit } from './schema';

/** Validators of single fields: each error names its field and the expected value. */

export const refused = (param: string, expected: string, details?: { readonly reason: string }): Fault =>
  fault('invalid_request', {
    param,
    message: `${param} must be ${expected}.`,
    ...(details === undefined ? {} : { details }),
  });

/** Unknown fields are refused: a misspelt limit must not be ignored. */
export function refuseUnknownFields(fields: object, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const param = unknown.slice(0, 100);
  throw fault('unsupported_parameter', {
    param,
    message: `${param} is not known here; known are ${known.join(', ')}.`,
  });
}

export function textField(value: unknown, param: string, longest: number): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '' || text.length > longest || !isPlainLine(text))
    throw refused(param, `a text of 1 to ${longest} characters without control or invisible characters`);
  return text;
}

export function wholeNumberField(value: unknown, param: string, least: number, most: number): number {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most)
    return number;
  throw refused(param, `a whole number from ${least} to ${most.toLocaleString('en')}`);
}

export function choiceField<Choice extends string>(
  value: unknown,
  param: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((known) => known === value);
  if (choice === undefined) throw refused(param, `one of ${choices.join(', ')}`);
  return choice;
}

export function instantField(value: unknown, param: string): Date {
  const instant = instantIn(value);
  if (instant === null)
    throw refused(param, 'an ISO 8601 time with its zone, like 2027-01-31T12:00:00Z', { reason: 'moment' });
  return instant;
}

export const orNull = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null ? null : read(value);

/** It checks a body that another reader takes apart: the first of its fields that does not fit is named. */
export function refuseMisfits(fields: Fields, given: Readonly<Record<string, unknown>>): void {
  for (const [param, field] of Object.entries(fields)) {
    const read = field.read(given[param]);
    if (read instanceof Misfit) throw fault('invalid_request', { param, message: `${param} ${read.msg}.` });
  }
}
