import { type InputField, FieldError } from './field';
import { field, line, oneOf, integer } from './kinds';
import { moment } from './instant';
import { nonEmptyLine, flag, listOf } from './body-kinds';
import { type PropertyKind, Property } from './property';

/** Property kinds: how each appears in a column, file, body, response, text and control. */

function property<Value>(
  kind: Omit<PropertyKind<Value>, 'toJson' | 'toText' | 'typed'> & Partial<PropertyKind<Value>>,
): Property<Value> {
  return new Property<Value>({ toJson: (value) => value, toText: String, typed: String, ...kind });
}

/** Users leave spaces around numbers and words. */
const trimmed = <Value>(inner: InputField<Value>): InputField<Value> =>
  field(inner.schema, (input) => inner.read(typeof input === 'string' ? input.trim() : input));

/** A list, or a text split at commas and line breaks. */
function wordList(max: number, maxLength: number, min: number): InputField<string[]> {
  const list = listOf(line(maxLength), max, min);
  const splitWords = (text: string): string[] =>
    text
      .split(/[,\n]/)
      .map((word) => word.trim())
      .filter((word) => word !== '');
  return field(list.schema, (input) => list.read(typeof input === 'string' ? splitWords(input) : input));
}

export const propertyOf = {
  line: (max: number): Property<string> =>
    property({
      column: { type: 'text' },
      control: { type: 'text' },
      field: nonEmptyLine(max),
      fromFile: (value) => value.text(),
    }),

  oneOf: <Choice extends string>(choices: readonly Choice[]): Property<Choice> =>
    property({
      column: { type: 'text' },
      check: {
        rule: 'known',
        sql: (column) => `${column} IN (${choices.map((choice) => `'${choice}'`).join(', ')})`,
      },
      control: { type: 'select', choices },
      field: oneOf(choices),
      fromFile: (value) => value.oneOf(choices),
    }),

  integer: (min: number, max: number): Property<number> =>
    property({
      column: { type: 'integer' },
      control: { type: 'text', inputMode: 'numeric' },
      field: trimmed(integer(min, max)),
      fromFile: (value) => value.wholeNumber(min, max),
    }),

  /** The order of the words does not matter. */
  words: (max: number, maxLength: number, min = 0): Property<string[]> =>
    property({
      column: { type: 'text', array: true },
      control: { type: 'text' },
      field: wordList(max, maxLength, min),
      fromFile: (value) => value.texts(),
      toText: (words) => (words.length === 0 ? 'none' : words.toSorted().join(', ')),
      typed: (words) => words.join(', '),
    }),

  flag: (): Property<boolean> =>
    property({
      column: { type: 'boolean' },
      control: { type: 'checkbox' },
      field: flag,
      fromFile: (value) => value.truth(),
    }),

  instant: (): Property<Date> =>
    property({
      column: { type: 'timestamptz' },
      control: { type: 'datetime-local' },
      field: moment,
      fromFile: (value) => value.instant(),
      toJson: (instant) => instant.toISOString(),
      toText: (instant) => instant.toISOString(),
      typed: (instant) => instant.toISOString().slice(0, 16),
    }),

  object: <Value extends object>(
    shape: Pick<PropertyKind<Value>, 'fromFile' | 'toJson' | 'toText'>,
  ): Property<Value> =>
    property({
      ...shape,
      column: { type: 'jsonb' },
      check: { rule: 'object', sql: (column) => `jsonb_typeof(${column}) = 'object'` },
      control: { type: 'text' },
      field: field<Value>({ type: 'object' }, () => new FieldError('isObject', 'must be an object')),
    }),
};
