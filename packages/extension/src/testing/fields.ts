import type { Field, Fields } from '../pages';

/** Why a value is refused; the type is the one that the host names. */
export class FieldIssue {
  constructor(
    readonly type: string,
    readonly msg: string,
  ) {}
}

/** A field as the host reads it: JSON values and the texts of a form. */
export class TestField<Value> implements Field<Value> {
  constructor(readonly read: (value: unknown) => Value | FieldIssue) {}

  optional(): TestField<Value | undefined> {
    return new TestField<Value | undefined>((value) => (value === undefined ? undefined : this.read(value)));
  }

  orBlank(): TestField<Value | undefined> {
    return new TestField<Value | undefined>((value) =>
      value === undefined || isBlank(value) ? undefined : this.read(value),
    );
  }

  default(usual: Exclude<Value, undefined>): TestField<Exclude<Value, undefined>> {
    return new TestField((value) =>
      value === undefined ? usual : (this.read(value) as Exclude<Value, undefined>),
    );
  }
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

const text = (
  type: string,
  msg: string,
  isValid: (value: string) => boolean,
  maxLength = Infinity,
): TestField<string> =>
  new TestField((value) => {
    if (typeof value !== 'string' || !isValid(value)) return new FieldIssue(type, msg);
    return value.length > maxLength
      ? new FieldIssue('maxLength', `must have at most ${maxLength} characters`)
      : value;
  });

const isPlainLine = (value: string): boolean =>
  !/[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200c|\u200d|\ufe0e|\ufe0f)\p{DI}/u.test(value) && value.isWellFormed();

const number = (least: number, most: number, pattern: RegExp, type: string): TestField<number> =>
  new TestField((value) => {
    const read = typeof value === 'string' && pattern.test(value) ? Number(value) : value;
    if (typeof read !== 'number' || !Number.isFinite(read) || (type === 'isInt' && !Number.isInteger(read)))
      return new FieldIssue(type, `must be a number from ${least} to ${most}`);
    if (read < least) return new FieldIssue('min', `must not be less than ${least}`);
    return read > most ? new FieldIssue('max', `must not be greater than ${most}`) : read;
  });

const line = (most: number): TestField<string> =>
  text('isString', 'must be a text without control or invisible characters', isPlainLine, most);

export const fields: Fields = {
  filled: (most) =>
    new TestField((value) => {
      const read = line(most).read(value);
      return typeof read === 'string' && read.trim() === ''
        ? new FieldIssue('minLength', 'must not be empty')
        : read;
    }),
  line,
  lines: (most) => text('isString', 'must be a text', (value) => value.isWellFormed(), most),
  whole: (least, most) => number(least, most, /^\d{1,16}$/, 'isInt'),
  decimal: (least, most) => number(least, most, /^-?\d{1,16}(?:\.\d+)?$/, 'isNumber'),
  oneOf: <Choice extends string>(choices: readonly Choice[]) =>
    text('isIn', `must be one of ${choices.join(', ')}`, (value) =>
      choices.some((choice) => choice === value),
    ),
  matching: (pattern, expected) => text('matches', `must be ${expected}`, (value) => pattern.test(value)),
  truth: new TestField((value) => {
    const read = new Map<unknown, boolean>([
      [true, true],
      ['true', true],
      ['on', true],
      [false, false],
      ['false', false],
      ['off', false],
    ]).get(value);
    return read ?? new FieldIssue('isBoolean', 'must be true or false');
  }),
  day: text('matches', 'must be a day, like 2027-01-31', (value) => /^2[01]\d\d-\d\d-\d\d$/.test(value)),
};
