import { type Field, Misfit } from './field';
import { field, line, oneOf, whole } from './kinds';
import { moment } from './instant';
import { filled, flag, listOf } from './kinds-of-bodies';
import { type Nature, Property } from './property';

/** The kinds of properties: what each is in a column, a file, a body, an answer, a text and a control. */

function property<Value>(
  nature: Omit<Nature<Value>, 'toJson' | 'toText' | 'typed'> & Partial<Nature<Value>>,
): Property<Value> {
  return new Property<Value>({ toJson: (value) => value, toText: String, typed: String, ...nature });
}

/** Around a number or a word, people leave spaces. */
const trimmed = <Value>(inner: Field<Value>): Field<Value> =>
  field(inner.schema, (given) => inner.read(typeof given === 'string' ? given.trim() : given));

/** A list, or a text with commas or line ends between its items. */
function wordList(most: number, longest: number, least: number): Field<string[]> {
  const list = listOf(line(longest), most, least);
  const parted = (text: string): string[] =>
    text
      .split(/[,\n]/)
      .map((word) => word.trim())
      .filter((word) => word !== '');
  return field(list.schema, (given) => list.read(typeof given === 'string' ? parted(given) : given));
}

export const kept = {
  line: (most: number): Property<string> =>
    property({
      column: { type: 'text' },
      control: { type: 'text' },
      field: filled(most),
      fromFile: (given) => given.text(),
    }),

  oneOf: <Choice extends string>(choices: readonly Choice[]): Property<Choice> =>
    property({
      column: { type: 'text' },
      check: {
        rule: 'known',
        sql: (column) => `${column} IN (${choices.map((one) => `'${one}'`).join(', ')})`,
      },
      control: { type: 'select', choices },
      field: oneOf(choices),
      fromFile: (given) => given.oneOf(choices),
    }),

  whole: (least: number, most: number): Property<number> =>
    property({
      column: { type: 'integer' },
      control: { type: 'text', inputMode: 'numeric' },
      field: trimmed(whole(least, most)),
      fromFile: (given) => given.wholeNumber(least, most),
    }),

  /** Words in no particular order: the order is no difference. */
  words: (most: number, longest: number, least = 0): Property<string[]> =>
    property({
      column: { type: 'text', array: true },
      control: { type: 'text' },
      field: wordList(most, longest, least),
      fromFile: (given) => given.texts(),
      toText: (words) => (words.length === 0 ? 'none' : words.toSorted().join(', ')),
      typed: (words) => words.join(', '),
    }),

  flag: (): Property<boolean> =>
    property({
      column: { type: 'boolean' },
      control: { type: 'checkbox' },
      field: flag,
      fromFile: (given) => given.truth(),
    }),

  instant: (): Property<Date> =>
    property({
      column: { type: 'timestamptz' },
      control: { type: 'datetime-local' },
      field: moment,
      fromFile: (given) => given.instant(),
      toJson: (instant) => instant.toISOString(),
      toText: (instant) => instant.toISOString(),
      typed: (instant) => instant.toISOString().slice(0, 16),
    }),

  /** An object whose shape others know: they read it, and say how it is written. */
  object: <Value extends object>(
    shape: Pick<Nature<Value>, 'fromFile' | 'toJson' | 'toText'>,
  ): Property<Value> =>
    property({
      ...shape,
      column: { type: 'jsonb' },
      check: { rule: 'object', sql: (column) => `jsonb_typeof(${column}) = 'object'` },
      control: { type: 'text' },
      field: field<Value>({ type: 'object' }, () => new Misfit('isObject', 'must be an object')),
    }),
};
