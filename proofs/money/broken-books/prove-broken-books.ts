import { randomBytes } from 'node:crypto';
import { migrations } from '#migrations';
import { migrate } from '#inside/platform/database/migrate';
import { administer, inDatabase, type TestDatabase } from '../../../test/support/postgres';
import type { Proof } from '../proof';
import { breakAndVerify, verifyCopy } from './break-books';
import { breakages } from './breakages';
import { fillBooks } from './filled-books';
import { writeRandomBooks } from './random-books';

const RANDOM_BOOKS_COUNT = 10;

/** Every manual change to filled books is detected, and intact books report nothing. */
export async function proveBrokenBooks(proof: Proof, seed: string): Promise<void> {
  process.stdout.write(`seed ${seed}\n`);
  const filledBooks = await createDatabase(proof);
  await fillBooks(filledBooks);
  const intactReport = await verifyCopy(filledBooks);
  proof.add(
    'books that nobody touched',
    '0 reported',
    intactReport.output.trim().split('\n').at(-1) ?? '',
    intactReport.code === 0,
  );
  for (const breakage of breakages) {
    const { code, named, told } = await breakAndVerify(filledBooks, breakage, seed);
    proof.add(breakage.what, told, named ? 'named' : `not named, exit code ${code}`, named && code === 1);
  }
  await filledBooks.drop();
  for (let number = 1; number <= RANDOM_BOOKS_COUNT; number += 1) {
    const books = await createDatabase(proof);
    await writeRandomBooks(books, number);
    const { code, output } = await verifyCopy(books);
    const result = output.trim().split('\n').at(-1) ?? '';
    proof.add(`healthy books, written at random by seed ${number}`, '0 reported', result, code === 0);
    await books.drop();
  }
}

async function createDatabase({ postgres }: Proof): Promise<TestDatabase> {
  const name = `filled_${randomBytes(6).toString('hex')}`;
  await administer(postgres.ownerUrl, `CREATE DATABASE ${name}`);
  const [url, ownerUrl] = [inDatabase(postgres.url, name), inDatabase(postgres.ownerUrl, name)];
  await migrate({ url: ownerUrl, serviceUrl: postgres.url, migrations, queue: true });
  return {
    url,
    ownerUrl,
    drop: () => administer(postgres.ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}
