import { randomBytes } from 'node:crypto';
import { executeCommand } from '#inside/commands/run-command';
import { applicationUrl } from '#product/platform';
import { administer, inDatabase, inSession, type TestDatabase } from '../../../test/support/postgres';
import { makeScratchFolder } from '../../../test/support/scratch';
import type { Breakage } from './breakage';

export interface VerifyReport {
  readonly code: number;
  readonly output: string;
}

export interface BreakageResult extends VerifyReport {
  /** Text that a mismatch line of the report must contain, not only a heading. */
  readonly told: string;
  readonly named: boolean;
}

/** Applies the breakage to a copy of filled books and returns the report for the operator. */
export async function breakAndVerify(
  filled: TestDatabase,
  breakage: Breakage,
  seed: string,
): Promise<BreakageResult> {
  return withCopy(filled, async (copy) => {
    const expectedText = await applyBreakage(copy.ownerUrl, breakage, seed);
    const verifyReport = await verifyBooks(copy);
    return { ...verifyReport, told: expectedText, named: isNamed(expectedText, verifyReport.output) };
  });
}

/** Whether a mismatch line contains the text as a complete word. */
const isNamed = (expectedText: string, output: string): boolean =>
  output
    .split('\n')
    .filter((line) => line.startsWith(' '))
    .some((line) =>
      line.split(expectedText).some((rest, nodeIndex) => nodeIndex > 0 && !/^[0-9A-Za-z]/.test(rest)),
    );

export const verifyCopy = (filled: TestDatabase): Promise<VerifyReport> => withCopy(filled, verifyBooks);

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

/** Runs as the owner of the database, bypassing triggers and foreign keys. */
async function applyBreakage(ownerUrl: string, { what, sql }: Breakage, seed: string): Promise<string> {
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

async function verifyBooks({ url, ownerUrl }: TestDatabase): Promise<VerifyReport> {
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
