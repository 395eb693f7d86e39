import { randomBytes } from 'node:crypto';
import { executeCommand } from '#inside/commands/run-command';
import { applicationUrl } from '#product/platform';
import { administer, inDatabase, inSession, type TestDatabase } from '../../../test/support/postgres';
import { makeScratchFolder } from '../../../test/support/scratch';
import type { Breakage } from './breakage';

export interface Report {
  readonly code: number;
  readonly output: string;
}

export interface BrokenBooks extends Report {
  /** The report has to name this in a line of what disagrees, not only in a heading. */
  readonly told: string;
  readonly named: boolean;
}

/** Does the harm to a copy of filled books, and answers what an operator is told of it. */
export async function breakAndVerify(
  filled: TestDatabase,
  breakage: Breakage,
  seed: string,
): Promise<BrokenBooks> {
  return withCopy(filled, async (copy) => {
    const told = await harm(copy.ownerUrl, breakage, seed);
    const report = await verified(copy);
    return { ...report, told, named: isNamed(told, report.output) };
  });
}

/** As a whole word, in a line of what disagrees. */
const isNamed = (told: string, output: string): boolean =>
  output
    .split('\n')
    .filter((line) => line.startsWith(' '))
    .some((line) => line.split(told).some((rest, place) => place > 0 && !/^[0-9A-Za-z]/.test(rest)));

export const verifyCopy = (filled: TestDatabase): Promise<Report> => withCopy(filled, verified);

async function withCopy<T>(filled: TestDatabase, work: (copy: TestDatabase) => Promise<T>): Promise<T> {
  const name = `broken_${randomBytes(6).toString('hex')}`;
  const source = new URL(filled.ownerUrl).pathname.slice(1);
  await administer(
    inDatabase(filled.ownerUrl, 'postgres'),
    `CREATE DATABASE ${name} TEMPLATE "${source}" STRATEGY FILE_COPY`,
  );
  const drop = () =>
    administer(inDatabase(filled.ownerUrl, 'postgres'), `DROP DATABASE ${name} WITH (FORCE)`);
  const ownerUrl = inDatabase(filled.ownerUrl, name);
  try {
    return await work({ ownerUrl, url: applicationUrl(inDatabase(filled.url, name)), drop });
  } finally {
    await drop();
  }
}

/** As the owner of the database, past all triggers and foreign keys. */
async function harm(ownerUrl: string, { what, sql }: Breakage, seed: string): Promise<string> {
  return inSession(ownerUrl, async (client) => {
    await client.query(`SET session_replication_role = replica; SET TIME ZONE 'UTC'`);
    const { rows } = await client.query<{ told: string | null }>(
      sql.replaceAll('$1::text', client.escapeLiteral(seed)),
    );
    const told = rows[0]?.told ?? null;
    if (told === null) throw new Error(`nothing was broken: ${what}`);
    return told;
  });
}

async function verified({ url, ownerUrl }: TestDatabase): Promise<Report> {
  let output = '';
  const write = (text: string): void => {
    output += text;
  };
  const code = await executeCommand(['money:verify', '--full'], {
    environment: {
      ...{ NODE_ENV: 'test', LOG_LEVEL: 'silent', DATA_FOLDER: makeScratchFolder('broken-books-') },
      ...{ DATABASE_URL: url, MIGRATION_DATABASE_URL: ownerUrl },
    },
    write,
    writeStderr: () => undefined,
    confirm: () => Promise.resolve(false),
  });
  return { code, output };
}
