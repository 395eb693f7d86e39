import { verifyCopy } from '../../../proofs/money/broken-books/break-books';
import { writeRandomBooks } from '../../../proofs/money/broken-books/random-books';
import { createTestDatabase } from '../../support/postgres';

/** "0 false alarms on 10 random healthy books, which a seeded generator writes through the product's own operations." */
test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
  'money:verify reports nothing about healthy books, written at random by seed %d',
  async (seed) => {
    const books = await createTestDatabase();
    try {
      await writeRandomBooks(books, seed);
      const { code, output } = await verifyCopy(books);
      expect(output.match(/^BROKEN.*(\n +.*)*/gm)).toBeNull();
      expect(code).toBe(0);
    } finally {
      await books.drop();
    }
  },
);
