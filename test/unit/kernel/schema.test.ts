import {
  cursor,
  cursorText,
  day,
  dayOrInstant,
  decimal,
  dollars,
  dollarText,
  nonEmptyLine,
  line,
  multilineText,
  listOf,
  matching,
  FieldError,
  oneNumberOf,
  objectSchema,
  oneOf,
  optional,
  rowId,
  rowIds,
  trueOrFalse,
  typedDollars,
  uuid,
  integer,
  wordsOf,
  zone,
} from '../../../src/kernel';

const isRejected = (field: { read(given: unknown): unknown }, given: unknown): boolean =>
  field.read(given) instanceof FieldError;

/** Values that every kind rejects. */
const invalidValues = [null, true, Number.NaN, 1.5, [], ['7', '8'], {}, 'a\0b', '\ud800'];

test('integers are digit strings or JSON numbers only', () => {
  const field = integer(0, 800);
  expect(['0', '7', '007', '800', 30].map((given) => field.read(given))).toEqual([0, 7, 7, 800, 30]);
  const invalidIntegers = [
    '',
    ' 7 ',
    '+7',
    '-1',
    '7.0',
    '1e2',
    '0x10',
    '٧',
    '７',
    '7\n',
    '1'.repeat(17),
    801,
    -1,
  ];
  expect([...invalidValues, ...invalidIntegers].filter((given) => !isRejected(field, given))).toEqual([]);
  expect(field.read('801')).toEqual(new FieldError('max', 'must not be greater than 800'));
  expect(integer(1, 5).read('0')).toEqual(new FieldError('min', 'must not be less than 1'));
  expect(isRejected(rowId, '2147483648')).toBe(true);
  expect(rowId.read('2147483647')).toBe(2_147_483_647);
});

test('dates are calendar days, and instants require a time zone', () => {
  expect(day.read('2028-02-29')).toBe('2028-02-29');
  const invalidDates = [
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '20260101',
    '1999-12-31',
    '2200-01-01',
    '2026-01-01T00:00Z',
  ];
  expect([...invalidValues, ...invalidDates].filter((given) => !isRejected(day, given))).toEqual([]);
  for (const validInstant of ['2026-01-31', '2026-01-31T12:00Z', '2026-01-31T12:00:00.5+02:00'])
    expect(dayOrInstant.read(validInstant)).toBe(validInstant);
  const invalidInstants = ['2026-02-30T12:00:00Z', '2026-01-31T25:00:00Z', '2026-01-31T12:00:00', 'now'];
  expect([...invalidValues, ...invalidInstants].filter((given) => !isRejected(dayOrInstant, given))).toEqual(
    [],
  );
});

test('row numbers are separated by commas or given as a list', () => {
  expect(rowIds.read('1, 2')).toEqual([1, 2]);
  expect(rowIds.read(['1', 2])).toEqual([1, 2]);
  expect(['', '1,,2', '1;2', ['x'], null, {}, '0'].filter((given) => !isRejected(rowIds, given))).toEqual([]);
});

test.each([
  ['choices', oneOf(['a', 'b']), 'a', ['A', 'a ', 'c', '']],
  ['choices of numbers', oneNumberOf([7, 30]), '7', ['8', '7.0', ' 7', '']],
  ['lines', line(3), 'abc', ['abcd', 'a\nb', '\u0085']],
  ['patterns', matching(/^[a-z]+$/, 'letters'), 'abc', ['ABC', '']],
  ['zones', zone, 'Europe/Zurich', ['Nowhere', '']],
  ['UUIDs', uuid, '0195b2e0-0000-7000-8000-000000000001', ['0195b2e0', '']],
  ['cursors', cursor, cursorText('next', ['1']), ['abc', 'W10', '', `${cursorText('next', ['1'])}=`]],
])('%s', (_name, field: { read(given: unknown): unknown }, good, wrong) => {
  expect(String(field.read(good))).toBe(good);
  expect([...invalidValues, ...wrong].filter((given) => !isRejected(field, given))).toEqual([]);
});

test('absent field is rejected, accepted or defaulted, and a form can leave fields blank', () => {
  expect(integer(1, 9).read(undefined)).toEqual(new FieldError('missing', 'is missing'));
  expect(integer(1, 9).optional().read(undefined)).toBeUndefined();
  expect(isRejected(integer(1, 9).optional(), '')).toBe(true);
  expect(integer(1, 9).default(3).read(undefined)).toBe(3);
  expect(isRejected(integer(1, 9).default(3), '')).toBe(true);
  expect(integer(1, 9).orBlank().read('')).toBeUndefined();
  expect(integer(1, 9).orBlank().default(3).read('')).toBe(3);
  expect(integer(1, 9).orBlank().read(null)).toBeUndefined();
  expect(isRejected(integer(1, 9).orBlank(), [])).toBe(true);
  expect(integer(1, 9).default(3).schema).toEqual({ type: 'integer', minimum: 1, maximum: 9, default: 3 });
  expect([integer(1, 9).isRequired, integer(1, 9).optional().isRequired]).toEqual([true, false]);
});

test('kinds accept the values of forms and JSON, and reject all others', () => {
  expect(['on', 'true', true, 'off', 'false', false].map((given) => trueOrFalse.read(given))).toEqual([
    ...[true, true, true],
    ...[false, false, false],
  ]);
  expect([1, 0, 'yes', 'ON', '', null, {}, []].filter((given) => !isRejected(trueOrFalse, given))).toEqual(
    [],
  );
  expect(nonEmptyLine(5).read(' a b ')).toBe('a b');
  expect(nonEmptyLine(5).read('abcdef')).toEqual(
    new FieldError('maxLength', 'must be shorter than or equal to 5 characters'),
  );
  expect(
    ['', ' ', 'a\nb', 'a\0', '\ud800', 5, null, {}].filter((given) => !isRejected(nonEmptyLine(5), given)),
  ).toEqual([]);
  expect(multilineText(9).read('a\nb')).toBe('a\nb');
  expect(
    ['a\0', '\ud800', 'a'.repeat(10), 5].filter((given) => !isRejected(multilineText(9), given)),
  ).toEqual([]);
  expect(['0,5', '0.5', 1].map((given) => decimal(0, 1).read(given))).toEqual([0.5, 0.5, 1]);
  expect(
    ['', '1e0', '.5', 1.1, -0.1, Number.NaN].filter((given) => !isRejected(decimal(0, 1), given)),
  ).toEqual([]);
});

test('amounts are exact, and commas are accepted in forms only', () => {
  expect([dollars.read('0.000000001'), dollars.read(2), typedDollars.read(' 12,5 ')]).toEqual([
    1n,
    2_000_000_000n,
    12_500_000_000n,
  ]);
  expect(
    ['1,5', '-1', -1, '', 'x', '0.0000000001', true, {}].filter((given) => !isRejected(dollars, given)),
  ).toEqual([]);
  expect([dollarText().read(12.5), dollarText(2).read('99')]).toEqual(['12.5', '99']);
  expect(
    [dollarText(2).read('100'), dollarText().read('1e2'), dollarText().read(1e-7)].map(
      (read) => read instanceof FieldError,
    ),
  ).toEqual([true, true, true]);
});

test('lists are lists, or a single value sent by a form', () => {
  const names = listOf(line(3), 2, 1);
  expect([names.read('a'), names.read(['a', 'b'])]).toEqual([['a'], ['a', 'b']]);
  expect(
    [[], ['a', 'b', 'c'], ['long'], [5], {}, 5, null].filter((given) => !isRejected(names, given)),
  ).toEqual([]);
  expect(wordsOf(line(3), 3).read('a, b  c')).toEqual(['a', 'b', 'c']);
});

test('null and an empty value mean absent or reset, depending on the field', () => {
  const count = integer(1, 5);
  expect([null, '', '  ', undefined].map((given) => count.orBlank().read(given))).toEqual(
    Array(4).fill(undefined),
  );
  expect([null, '', []].map((given) => count.orNone().read(given))).toEqual([null, null, null]);
  expect([count.orNone().read(undefined), count.nullable().read(null)]).toEqual([undefined, null]);
  expect([isRejected(count.nullable(), ''), isRejected(count.optional(), null)]).toEqual([true, true]);
  expect(objectSchema({ a: count, ...optional({ b: oneOf(['x']).nullable() }) })).toEqual({
    type: 'object',
    properties: {
      a: { type: 'integer', minimum: 1, maximum: 5 },
      b: { type: ['string', 'null'], enum: ['x', null] },
    },
    required: ['a'],
    additionalProperties: false,
  });
});

test('lines reject invisible characters except those that scripts and emoji need', () => {
  const acceptedLines = [
    'Ada',
    'José Ñandú',
    'نمی\u200Cخواهم',
    'क्\u200Dष',
    '❤\uFE0F',
    '👩\u200D💻',
    '❤\uFE0F\u200D🔥',
    '李雷',
  ];
  const rejectedLines = [
    ...['a\u202Eb', 'a\u200Bb', '\u2066a\u2069', 'a\uFEFFb', 'so\u00ADft', 'a\u2060b', 'a\u3164', 'a\u2028b'],
    ...['a\u200Db', 'a\u200C', '\u200Da', '李\u200D', 'a\uFE0F', 'a\uDB40\uDC41', 'a\u0001', '\uD800'],
  ];
  for (const field of [line(100), nonEmptyLine(100)]) {
    for (const text of acceptedLines) expect([text, field.read(text)]).toEqual([text, text]);
    for (const text of rejectedLines)
      expect([text, field.read(text) instanceof FieldError]).toEqual([text, true]);
  }
});
