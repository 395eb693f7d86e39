import { randomBytes } from 'node:crypto';
import { migrations } from '#migrations';
import { migrate } from '#inside/platform/database/migrate';
import { administer, inDatabase, type TestDatabase } from '../../../test/support/postgres';
import type { Proof } from '../proof';
import { breakAndVerify, verifyCopy } from './break-books';
import { breakages } from './breakages';
import { fillBooks } from './filled-books';
import { writeRandomBooks } from './random-books';

const RANDOM_BOOKS = 10;

/** Everything that can be done to filled books by hand is found, and nothing in books that are well. */
export async function proveBrokenBooks(proof: Proof, seed: string): Promise<void> {
  process.stdout.write(`seed ${seed}\n`);
  const filled = await newDatabase(proof);
  await fillBooks(filled);
  const well = await verifyCopy(filled);
  proof.add(
    'books that nobody touched',
    '0 reported',
    well.output.trim().split('\n').at(-1) ?? '',
    well.code === 0,
  );
  for (const breakage of breakages) {
    const { code, named, told } = await breakAndVerify(filled, breakage, seed);
    proof.add(breakage.what, told, named ? 'named' : `not named, exit code ${code}`, named && code === 1);
  }
  await filled.drop();
  for (let number = 1; number <= RANDOM_BOOKS; number += 1) {
    const books = await newDatabase(proof);
    await writeRandomBooks(books, number);
    const { code, output } = await verifyCopy(books);
    const result = output.trim().split('\n').at(-1) ?? '';
    proof.add(`healthy books, written at random by seed ${number}`, '0 reported', result, code === 0);
    await books.drop();
  }
}

async function newDatabase({ postgres }: Proof): Promise<TestDatabase> {
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
