import { canonicalZone } from '../period';
import { isUuid } from '../ids';
import { readCursor } from './cursor';
import { Field, Misfit } from './field';
import type { Schema } from './json-schema';

/** The kinds of fields. A rule's name is the one that the texts of the pages are found by. */

export const field = <Value>(schema: Schema, read: (given: unknown) => Value | Misfit): Field<Value> =>
  new Field<Value>({ schema, read });

/** It reads texts alone. */
const text =
  <Value>(misfit: Misfit, read: (text: string) => Value | undefined) =>
  (given: unknown): Value | Misfit =>
    (typeof given === 'string' ? read(given) : undefined) ?? misfit;

/** Digits and nothing else: no sign, space, exponent, other base or digit of another script. */
const DIGITS = /^\d{1,16}$/;

export function whole(least: number, most: number): Field<number> {
  const misfit = new Misfit('isInt', `must be a whole number from ${least} to ${most}`);
  const [below, above] = [
    new Misfit('min', `must not be less than ${least}`),
    new Misfit('max', `must not be greater than ${most}`),
  ];
  return field({ type: 'integer', minimum: least, maximum: most }, (given): number | Misfit => {
    const number = typeof given === 'string' && DIGITS.test(given) ? Number(given) : given;
    if (typeof number !== 'number' || !Number.isInteger(number)) return misfit;
    if (number < least) return below;
    return number > most ? above : number;
  });
}

const LARGEST_ROW_ID = 2_147_483_647;

/** The number of a row. */
export const rowId = whole(1, LARGEST_ROW_ID);

const MOST_IDS = 1_000;

/** These are numbers of rows, with commas between or as a list. */
export const rowIds: Field<number[]> = field(
  {
    type: ['array', 'string'],
    items: rowId.schema,
    maxItems: MOST_IDS,
    pattern: '^\\s*\\d{1,10}\\s*(,\\s*\\d{1,10}\\s*)*$',
  },
  (given): number[] | Misfit => {
    const parts = [given].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]));
    const ids = parts.map((part) => rowId.read(typeof part === 'string' ? part.trim() : part));
    const isFit = ids.length <= MOST_IDS && ids.every((id) => typeof id === 'number');
    return isFit ? ids : new Misfit('isArray', 'must be numbers of rows, with commas between');
  },
);

/** It takes one of a few whole numbers. */
export function oneNumberOf<Choice extends number>(choices: readonly Choice[]): Field<Choice> {
  const misfit = new Misfit('isIn', `must be one of the following values: ${choices.join(', ')}`);
  return field({ type: 'integer', enum: choices }, (given): Choice | Misfit => {
    const number = typeof given === 'string' && DIGITS.test(given) ? Number(given) : given;
    return choices.find((choice) => choice === number) ?? misfit;
  });
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): Field<Choice> {
  const misfit = new Misfit('isIn', `must be one of the following values: ${choices.join(', ')}`);
  return field(
    { type: 'string', enum: choices },
    text(misfit, (given) => choices.find((choice) => choice === given)),
  );
}

/** No encoding can hold half of a character. */
export const isWhole = (given: string): boolean => given.isWellFormed();

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

export const isPlainLine = (given: string): boolean => !HIDDEN.test(given) && isWhole(given);

export const plainLineWords = 'a text without control or invisible characters';

/** A text of one line. */
export function line(most: number): Field<string> {
  const long = new Misfit('maxLength', `must be shorter than or equal to ${most} characters`);
  const misfit = new Misfit('isString', `must be ${plainLineWords}`);
  return field({ type: 'string', maxLength: most }, (given): string | Misfit => {
    if (typeof given !== 'string' || !isPlainLine(given)) return misfit;
    return given.length > most ? long : given;
  });
}

/** A text of a form that a pattern describes. */
export function matching(pattern: RegExp, expected: string): Field<string> {
  const misfit = new Misfit('matches', `must be ${expected}`);
  return field(
    { type: 'string', pattern: pattern.source },
    text(misfit, (given) => (pattern.test(given) && isWhole(given) ? given : undefined)),
  );
}

const DAY = /^(\d{4})-\d\d-\d\d$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A day that the calendar has, from 2000 to 2199. */
export function isDay(given: string): boolean {
  const year = Number(DAY.exec(given)?.[1]);
  if (!(year >= 2000 && year < 2200)) return false;
  const at = new Date(`${given}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(given);
}

const isInstant = (given: string): boolean =>
  isDay(INSTANT.exec(given)?.[1] ?? '') && !Number.isNaN(Date.parse(given));

/** A day of the calendar, like 2027-01-31. */
export const day: Field<string> = field(
  { type: 'string', format: 'date' },
  text(new Misfit('matches', 'must be a day, like 2027-01-31'), (given) =>
    isDay(given) ? given : undefined,
  ),
);

/** A day, or an instant with its zone. */
export const dayOrInstant: Field<string> = field(
  {
    anyOf: [
      { type: 'string', format: 'date' },
      { type: 'string', format: 'date-time' },
    ],
  },
  text(
    new Misfit(
      'matches',
      'must be a day, like 2027-01-31, or an ISO 8601 time with its zone, like 2027-01-31T12:00:00Z',
    ),
    (given) => (isDay(given) || isInstant(given) ? given : undefined),
  ),
);

/** The name of a time zone. */
export const zone: Field<string> = field(
  { type: 'string', format: 'time-zone', maxLength: 64 },
  text(new Misfit('timeZone', 'must be the name of a time zone, like Europe/Zurich'), (given) =>
    given.length <= 64 ? (canonicalZone(given) ?? undefined) : undefined,
  ),
);

export const uuid: Field<string> = field(
  { type: 'string', format: 'uuid' },
  text(new Misfit('isUuid', 'must be a UUID'), (given) => (isUuid(given.toLowerCase()) ? given : undefined)),
);

/** The place of a page in a list, as the page before it told. */
export const cursor: Field<string> = field(
  { type: 'string', maxLength: 1_000 },
  text(new Misfit('matches', 'must be the next_cursor or previous_cursor of an earlier page'), (given) =>
    readCursor(given) === null ? undefined : given,
  ),
);
