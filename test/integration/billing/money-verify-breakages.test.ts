import { breakages } from '../../../proofs/money/broken-books/breakages';
import { breakAndVerify, verifyCopy } from '../../../proofs/money/broken-books/break-books';
import { fillBooks } from '../../../proofs/money/broken-books/filled-books';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

let filledDatabase: TestDatabase;
beforeAll(async () => {
  filledDatabase = await createTestDatabase();
  await fillBooks(filledDatabase);
});
afterAll(() => filledDatabase.drop());

/** Names of the invariants that the breakages violated. */
const brokenInvariants = new Set<string>();
const brokenInOutput = (output: string): string[] =>
  [...output.matchAll(/^BROKEN +(.*)$/gm)].map(([, name = '']) => name);

test('money:verify reports nothing for an undamaged copy', async () => {
  const { code, output } = await verifyCopy(filledDatabase);
  expect(output.match(/^BROKEN.*(\n +.*)*/gm)).toBeNull();
  expect(code).toBe(0);
});

test.each(breakages)('money:verify detects: $what', async (breakage) => {
  const { code, named, told, output } = await breakAndVerify(filledDatabase, breakage, 'one');
  for (const name of brokenInOutput(output)) brokenInvariants.add(name);
  expect(code).toBe(1);
  expect([told, named]).toEqual([told, true]);
});

const movedPostings = breakages.filter(({ what }) => what.startsWith('a posting moves to another wallet'));

test.each(['two', 'three', 'four', 'five', 'six'])(
  'money:verify detects a posting moved to another wallet with seed %s',
  async (seed) => {
    expect(movedPostings).toHaveLength(1);
    for (const breakage of movedPostings) {
      const { named, told } = await breakAndVerify(filledDatabase, breakage, seed);
      expect([told, named]).toEqual([told, true]);
    }
  },
);

test('every invariant of money:verify is violated by at least one breakage', async () => {
  const { output } = await verifyCopy(filledDatabase);
  const names = [...output.matchAll(/^holds +(.*)$/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !brokenInvariants.has(name))).toEqual([]);
});
