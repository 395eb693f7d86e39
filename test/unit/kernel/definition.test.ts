import { defineFields, propertyOf } from '../../../src/kernel';

const fields = defineFields('thing', {
  most: propertyOf.integer(1, 9).nullable('any'),
  words: propertyOf.words(9, 9).nullable('every'),
  mode: propertyOf.oneOf(['on', 'off']).default('on').notOn('file'),
  ends_at: propertyOf.instant().nullable('never'),
});
const noon = new Date('2027-01-31T12:00:00Z');
const thing = { most: 4, words: ['a', 'b'], mode: 'on', endsAt: noon } as const;
const before = { ...thing, words: [...thing.words] };

test('what is not said is as usual, and null is said', () => {
  expect(fields.pick({ most: 3, words: null })).toEqual({ most: 3, words: null, mode: 'on', endsAt: null });
});

test('of what is said, a change is what is not so already; the order of words is no change', () => {
  const same = { most: 4, words: ['b', 'a'], endsAt: new Date(noon) };
  expect(fields.changedValues('body', before, same)).toEqual({});
  expect(fields.changedValues('body', before, {})).toEqual({});
  expect(fields.changedValues('body', before, { ...same, most: null, mode: 'off' })).toEqual({
    most: null,
    mode: 'off',
  });
  expect(fields.changedValues('file', before, { most: 5, mode: 'off' })).toEqual({ most: 5 });
  // A word may be called like the word for null.
  expect(fields.changedValues('body', { ...before, words: null }, { words: ['every'] })).toEqual({
    words: ['every'],
  });
});

test('a body is read field by field, and what it does not name is not there', () => {
  const read = fields.fromBody({ most: '7', ends_at: null, other: 1 }, (value, { name }) => [name, value]);
  expect(read).toEqual({ most: ['most', '7'], endsAt: ['ends_at', null] });
});
