import { defineFields, propertyOf } from '../../../src/kernel';

const fields = defineFields('thing', {
  most: propertyOf.integer(1, 9).nullable('any'),
  words: propertyOf.words(9, 9).nullable('every'),
  mode: propertyOf.oneOf(['on', 'off']).default('on').notOn('file'),
  ends_at: propertyOf.instant().nullable('never'),
});
const noon = new Date('2027-01-31T12:00:00Z');
const definition = { most: 4, words: ['a', 'b'], mode: 'on', endsAt: noon } as const;
const current = { ...definition, words: [...definition.words] };

test('omitted fields take their defaults, and null counts as set', () => {
  expect(fields.pick({ most: 3, words: null })).toEqual({ most: 3, words: null, mode: 'on', endsAt: null });
});

test('changes are the given fields whose value differs, ignoring list order', () => {
  const unchanged = { most: 4, words: ['b', 'a'], endsAt: new Date(noon) };
  expect(fields.changedValues('body', current, unchanged)).toEqual({});
  expect(fields.changedValues('body', current, {})).toEqual({});
  expect(fields.changedValues('body', current, { ...unchanged, most: null, mode: 'off' })).toEqual({
    most: null,
    mode: 'off',
  });
  expect(fields.changedValues('file', current, { most: 5, mode: 'off' })).toEqual({ most: 5 });
  // A list item can have the same name as the word for null.
  expect(fields.changedValues('body', { ...current, words: null }, { words: ['every'] })).toEqual({
    words: ['every'],
  });
});

test('body is read field by field, and unknown names are ignored', () => {
  const parsed = fields.fromBody({ most: '7', ends_at: null, other: 1 }, (value, { name }) => [name, value]);
  expect(parsed).toEqual({ most: ['most', '7'], endsAt: ['ends_at', null] });
});
