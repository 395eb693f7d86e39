import type { Field, Fields } from '../pages';

/** Why a value is rejected; `type` is the one that the host reports. */
export class FieldIssue {
  constructor(
    readonly type: string,
    readonly msg: string,
  ) {}
}

/** Reads values as the host does: JSON values and the texts of a form. */
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

  default(defaultValue: Exclude<Value, undefined>): TestField<Exclude<Value, undefined>> {
    return new TestField((value) =>
      value === undefined ? defaultValue : (this.read(value) as Exclude<Value, undefined>),
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

const number = (minimum: number, maximum: number, pattern: RegExp, type: string): TestField<number> =>
  new TestField((value) => {
    const parsed = typeof value === 'string' && pattern.test(value) ? Number(value) : value;
    if (
      typeof parsed !== 'number' ||
      !Number.isFinite(parsed) ||
      (type === 'isInt' && !Number.isInteger(parsed))
    )
      return new FieldIssue(type, `must be a number from ${minimum} to ${maximum}`);
    if (parsed < minimum) return new FieldIssue('min', `must not be less than ${minimum}`);
    return parsed > maximum ? new FieldIssue('max', `must not be greater than ${maximum}`) : parsed;
  });

const line = (maxLength: number): TestField<string> =>
  text('isString', 'must be a text without control or invisible characters', isPlainLine, maxLength);

export const fields: Fields = {
  filled: (maxLength) =>
    new TestField((value) => {
      const read = line(maxLength).read(value);
      return typeof read === 'string' && read.trim() === ''
        ? new FieldIssue('minLength', 'must not be empty')
        : read;
    }),
  line,
  lines: (maxLength) => text('isString', 'must be a text', (value) => value.isWellFormed(), maxLength),
  whole: (minimum, maximum) => number(minimum, maximum, /^\d{1,16}$/, 'isInt'),
  decimal: (minimum, maximum) => number(minimum, maximum, /^-?\d{1,16}(?:\.\d+)?$/, 'isNumber'),
  oneOf: <Choice extends string>(choices: readonly Choice[]) =>
    text('isIn', `must be one of ${choices.join(', ')}`, (value) =>
      choices.some((choice) => choice === value),
    ),
  matching: (pattern, expected) => text('matches', `must be ${expected}`, (value) => pattern.test(value)),
  truth: new TestField((value) => {
    const parsed = new Map<unknown, boolean>([
      [true, true],
      ['true', true],
      ['on', true],
      [false, false],
      ['false', false],
      ['off', false],
    ]).get(value);
    return parsed ?? new FieldIssue('isBoolean', 'must be true or false');
  }),
  day: text('matches', 'must be a day, like 2027-01-31', (value) => /^2[01]\d\d-\d\d-\d\d$/.test(value)),
};
