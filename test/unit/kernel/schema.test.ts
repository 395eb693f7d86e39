import {
  cursor,
  cursorText,
  day,
  dayOrInstant,
  line,
  matching,
  Misfit,
  oneNumberOf,
  oneOf,
  rowId,
  rowIds,
  uuid,
  whole,
  zone,
} from '../../../src/kernel';

const refuses = (field: { read(given: unknown): unknown }, given: unknown): boolean =>
  field.read(given) instanceof Misfit;

/** What no kind takes. */
const odd = [null, true, Number.NaN, 1.5, [], ['7', '8'], {}, 'a\0b', '\ud800'];

test('whole numbers are digits and nothing else, or numbers of JSON', () => {
  const field = whole(0, 800);
  expect(['0', '7', '007', '800', 30].map((given) => field.read(given))).toEqual([0, 7, 7, 800, 30]);
  const wrong = ['', ' 7 ', '+7', '-1', '7.0', '1e2', '0x10', '٧', '７', '7\n', '1'.repeat(17), 801, -1];
  expect([...odd, ...wrong].filter((given) => !refuses(field, given))).toEqual([]);
  expect(field.read('801')).toEqual(new Misfit('max', 'must not be greater than 800'));
  expect(whole(1, 5).read('0')).toEqual(new Misfit('min', 'must not be less than 1'));
  expect(refuses(rowId, '2147483648')).toBe(true);
  expect(rowId.read('2147483647')).toBe(2_147_483_647);
});

test('days are days of the calendar, and instants have a zone', () => {
  expect(day.read('2028-02-29')).toBe('2028-02-29');
  const wrong = [
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '20260101',
    '1999-12-31',
    '2200-01-01',
    '2026-01-01T00:00Z',
  ];
  expect([...odd, ...wrong].filter((given) => !refuses(day, given))).toEqual([]);
  for (const good of ['2026-01-31', '2026-01-31T12:00Z', '2026-01-31T12:00:00.5+02:00'])
    expect(dayOrInstant.read(good)).toBe(good);
  const neither = ['2026-02-30T12:00:00Z', '2026-01-31T25:00:00Z', '2026-01-31T12:00:00', 'now'];
  expect([...odd, ...neither].filter((given) => !refuses(dayOrInstant, given))).toEqual([]);
});

test('numbers of rows stand between commas, or in a list', () => {
  expect(rowIds.read('1, 2')).toEqual([1, 2]);
  expect(rowIds.read(['1', 2])).toEqual([1, 2]);
  expect(['', '1,,2', '1;2', ['x'], null, {}, '0'].filter((given) => !refuses(rowIds, given))).toEqual([]);
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
  expect([...odd, ...wrong].filter((given) => !refuses(field, given))).toEqual([]);
});

test('absence is refused, taken, or a default; a form leaves fields blank', () => {
  expect(whole(1, 9).read(undefined)).toEqual(new Misfit('missing', 'is missing'));
  expect(whole(1, 9).optional().read(undefined)).toBeUndefined();
  expect(refuses(whole(1, 9).optional(), '')).toBe(true);
  expect(whole(1, 9).default(3).read(undefined)).toBe(3);
  expect(refuses(whole(1, 9).default(3), '')).toBe(true);
  expect(whole(1, 9).orBlank().read('')).toBeUndefined();
  expect(whole(1, 9).orBlank().default(3).read('')).toBe(3);
  expect(refuses(whole(1, 9).orBlank(), null)).toBe(true);
  expect(whole(1, 9).default(3).schema).toEqual({ type: 'integer', minimum: 1, maximum: 9, default: 3 });
  expect([whole(1, 9).isRequired, whole(1, 9).optional().isRequired]).toEqual([true, false]);
});
