import { canonicalZone } from '../period';
import { isUuid } from '../ids';
import { readCursor } from './cursor';
import { InputField, FieldError } from './field';
import type { JsonSchema } from './json-schema';

/** Field kinds. The pages' texts are keyed by the names of the rules. */

export const field = <Value>(
  schema: JsonSchema,
  read: (input: unknown) => Value | FieldError,
): InputField<Value> => new InputField<Value>({ schema, read });

const text =
  <Value>(error: FieldError, read: (text: string) => Value | undefined) =>
  (input: unknown): Value | FieldError =>
    (typeof input === 'string' ? read(input) : undefined) ?? error;

/** Digits only: no sign, space, exponent, other base or digit of another script. */
const DIGITS = /^\d{1,16}$/;

export function integer(min: number, max: number): InputField<number> {
  const error = new FieldError('isInt', `must be a whole number from ${min} to ${max}`);
  const [below, above] = [
    new FieldError('min', `must not be less than ${min}`),
    new FieldError('max', `must not be greater than ${max}`),
  ];
  return field({ type: 'integer', minimum: min, maximum: max }, (input): number | FieldError => {
    const number = typeof input === 'string' && DIGITS.test(input) ? Number(input) : input;
    if (typeof number !== 'number' || !Number.isInteger(number)) return error;
    if (number < min) return below;
    return number > max ? above : number;
  });
}

const MAX_ROW_ID = 2_147_483_647;

export const rowId = integer(1, MAX_ROW_ID);

const MAX_IDS = 1_000;

export const rowIds: InputField<number[]> = field(
  {
    type: ['array', 'string'],
    items: rowId.schema,
    maxItems: MAX_IDS,
    pattern: '^\\s*\\d{1,10}\\s*(,\\s*\\d{1,10}\\s*)*$',
  },
  (input): number[] | FieldError => {
    const parts = [input].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]));
    const ids = parts.map((part) => rowId.read(typeof part === 'string' ? part.trim() : part));
    const isValid = ids.length <= MAX_IDS && ids.every((id) => typeof id === 'number');
    return isValid ? ids : new FieldError('isArray', 'must be numbers of rows, with commas between');
  },
);

export function oneNumberOf<Choice extends number>(choices: readonly Choice[]): InputField<Choice> {
  const error = new FieldError('isIn', `must be one of the following values: ${choices.join(', ')}`);
  return field({ type: 'integer', enum: choices }, (input): Choice | FieldError => {
    const number = typeof input === 'string' && DIGITS.test(input) ? Number(input) : input;
    return choices.find((choice) => choice === number) ?? error;
  });
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): InputField<Choice> {
  const error = new FieldError('isIn', `must be one of the following values: ${choices.join(', ')}`);
  return field(
    { type: 'string', enum: choices },
    text(error, (input) => choices.find((choice) => choice === input)),
  );
}

/** An unpaired surrogate cannot be encoded. */
export const isWellFormed = (input: string): boolean => input.isWellFormed();

/**
 * Control, bidirectional and other invisible characters could forge lines, cells and names wherever a text is shown.
 * Joiners and variation selectors are allowed where scripts and emoji need them.
 */
const HIDDEN = new RegExp(
  [
    String.raw`[\p{Cc}\p{Zl}\p{Zp}]`,
    String.raw`(?!\u200c|\u200d|\ufe0e|\ufe0f)\p{DI}`,
    String.raw`(?<=^|\u200c|\u200d|[\p{ASCII}\p{Z}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])(?:\u200c|\u200d)`,
    String.raw`(?:\u200c|\u200d)(?![\p{L}\p{M}\p{ExtPict}])`,
    String.raw`(?<!\p{ExtPict})(?:\ufe0e|\ufe0f)(?!\u20e3)`,
  ].join('|'),
  'u',
);

export const isPlainLine = (input: string): boolean => !HIDDEN.test(input) && isWellFormed(input);

export const plainLineDescription = 'a text without control or invisible characters';

export function line(max: number): InputField<string> {
  const long = new FieldError('maxLength', `must be shorter than or equal to ${max} characters`);
  const error = new FieldError('isString', `must be ${plainLineDescription}`);
  return field({ type: 'string', maxLength: max }, (input): string | FieldError => {
    if (typeof input !== 'string' || !isPlainLine(input)) return error;
    return input.length > max ? long : input;
  });
}

export function matching(pattern: RegExp, expected: string): InputField<string> {
  const error = new FieldError('matches', `must be ${expected}`);
  return field(
    { type: 'string', pattern: pattern.source },
    text(error, (input) => (pattern.test(input) && isWellFormed(input) ? input : undefined)),
  );
}

const DAY = /^(\d{4})-\d\d-\d\d$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A calendar day from 2000 to 2199. */
export function isDay(input: string): boolean {
  const year = Number(DAY.exec(input)?.[1]);
  if (!(year >= 2000 && year < 2200)) return false;
  const at = new Date(`${input}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(input);
}

const isInstant = (input: string): boolean =>
  isDay(INSTANT.exec(input)?.[1] ?? '') && !Number.isNaN(Date.parse(input));

export const day: InputField<string> = field(
  { type: 'string', format: 'date' },
  text(new FieldError('matches', 'must be a day, like 2027-01-31'), (input) =>
    isDay(input) ? input : undefined,
  ),
);

export const dayOrInstant: InputField<string> = field(
  {
    anyOf: [
      { type: 'string', format: 'date' },
      { type: 'string', format: 'date-time' },
    ],
  },
  text(
    new FieldError(
      'matches',
      'must be a day, like 2027-01-31, or an ISO 8601 time with its zone, like 2027-01-31T12:00:00Z',
    ),
    (input) => (isDay(input) || isInstant(input) ? input : undefined),
  ),
);

export const zone: InputField<string> = field(
  { type: 'string', format: 'time-zone', maxLength: 64 },
  text(new FieldError('timeZone', 'must be the name of a time zone, like Europe/Zurich'), (input) =>
    input.length <= 64 ? (canonicalZone(input) ?? undefined) : undefined,
  ),
);

export const uuid: InputField<string> = field(
  { type: 'string', format: 'uuid' },
  text(new FieldError('isUuid', 'must be a UUID'), (input) =>
    isUuid(input.toLowerCase()) ? input : undefined,
  ),
);

/** Page cursor, as returned by an earlier page. */
export const cursor: InputField<string> = field(
  { type: 'string', maxLength: 1_000 },
  text(new FieldError('matches', 'must be the next_cursor or previous_cursor of an earlier page'), (input) =>
    readCursor(input) === null ? undefined : input,
  ),
);
