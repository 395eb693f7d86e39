import { type Fault, fault } from './errors';
import { type InputFields, instantIn, isPlainLine, FieldError } from './schema';

/** Validators of single fields: each error names its field and the expected value. */

export const invalidField = (param: string, expected: string, details?: { readonly reason: string }): Fault =>
  fault('invalid_request', {
    param,
    message: `${param} must be ${expected}.`,
    ...(details === undefined ? {} : { details }),
  });

/** Rejects unknown fields, so that a misspelt limit is not ignored. */
export function rejectUnknownFields(fields: object, knownFields: readonly string[]): void {
  const unknownField = Object.keys(fields).find((name) => !knownFields.includes(name));
  if (unknownField === undefined) return;
  const param = unknownField.slice(0, 100);
  throw fault('unsupported_parameter', {
    param,
    message: `${param} is not known here; known are ${knownFields.join(', ')}.`,
  });
}

export function textField(value: unknown, param: string, maxLength: number): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '' || text.length > maxLength || !isPlainLine(text))
    throw invalidField(
      param,
      `a text of 1 to ${maxLength} characters without control or invisible characters`,
    );
  return text;
}

export function integerField(value: unknown, param: string, min: number, max: number): number {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number;
  throw invalidField(param, `a whole number from ${min} to ${max.toLocaleString('en')}`);
}

export function choiceField<Choice extends string>(
  value: unknown,
  param: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw invalidField(param, `one of ${choices.join(', ')}`);
  return choice;
}

export function instantField(value: unknown, param: string): Date {
  const instant = instantIn(value);
  if (instant === null)
    throw invalidField(param, 'an ISO 8601 time with its zone, like 2027-01-31T12:00:00Z', {
      reason: 'moment',
    });
  return instant;
}

export const orNull = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null ? null : read(value);

/** Checks a body that another reader parses; the error names its first invalid field. */
export function rejectInvalidFields(fields: InputFields, input: Readonly<Record<string, unknown>>): void {
  for (const [param, field] of Object.entries(fields)) {
    const result = field.read(input[param]);
    if (result instanceof FieldError)
      throw fault('invalid_request', { param, message: `${param} ${result.msg}.` });
  }
}
