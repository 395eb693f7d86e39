import { breakages } from '../../../proofs/money/broken-books/breakages';
import { breakAndVerify, verifyCopy } from '../../../proofs/money/broken-books/break-books';
import { fillBooks } from '../../../proofs/money/broken-books/filled-books';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

let filled: TestDatabase;
beforeAll(async () => {
  filled = await createTestDatabase();
  await fillBooks(filled);
});
afterAll(() => filled.drop());

/** Names of the invariants that breakages have broken. */
const broken = new Set<string>();
const brokenIn = (output: string): string[] =>
  [...output.matchAll(/^BROKEN +(.*)$/gm)].map(([, name = '']) => name);

test('an undamaged copy reports nothing', async () => {
  const { code, output } = await verifyCopy(filled);
  expect(output.match(/^BROKEN.*(\n +.*)*/gm)).toBeNull();
  expect(code).toBe(0);
});

test.each(breakages)('found: $what', async (breakage) => {
  const { code, named, told, output } = await breakAndVerify(filled, breakage, 'one');
  for (const name of brokenIn(output)) broken.add(name);
  expect(code).toBe(1);
  expect([told, named]).toEqual([told, true]);
});

const moved = breakages.filter(({ what }) => what.startsWith('a posting moves to another wallet'));

test.each(['two', 'three', 'four', 'five', 'six'])(
  'found: a posting of any payment that moves, by seed %s',
  async (seed) => {
    expect(moved).toHaveLength(1);
    for (const breakage of moved) {
      const { named, told } = await breakAndVerify(filled, breakage, seed);
      expect([told, named]).toEqual([told, true]);
    }
  },
);

test('every invariant of money:verify is broken by at least one breakage', async () => {
  const { output } = await verifyCopy(filled);
  const names = [...output.matchAll(/^holds +(.*)$/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !broken.has(name))).toEqual([]);
});
