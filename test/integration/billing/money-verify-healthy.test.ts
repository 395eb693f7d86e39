import { verifyCopy } from '../../../proofs/money/broken-books/break-books';
import { writeRandomBooks } from '../../../proofs/money/broken-books/random-books';
import { createTestDatabase } from '../../support/postgres';

/** "0 false alarms on 10 random healthy books, which a seeded generator writes through the product's own operations." */
test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
  'money:verify reports nothing for random valid data of seed %d',
  async (seed) => {
    const testDatabase = await createTestDatabase();
    try {
      await writeRandomBooks(testDatabase, seed);
      const { code, output } = await verifyCopy(testDatabase);
      expect(output.match(/^BROKEN.*(\n +.*)*/gm)).toBeNull();
      expect(code).toBe(0);
    } finally {
      await testDatabase.drop();
    }
  },
);
