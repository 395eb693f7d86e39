import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { applicationUrl } from '#inside/platform/database/connection-url';
import { testServer } from './test-server';

export interface TestDatabase {
  /** Connection URL of the service, with the rights of the application role. */
  url: string;
  /** Connection URL of the migrations. */
  ownerUrl: string;
  drop(): Promise<void>;
}

/** Clones a migrated database from the template: one per test file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = testServer();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(server.ownerUrl, `CREATE DATABASE ${name} TEMPLATE ${server.template} STRATEGY FILE_COPY`);
  return {
    url: applicationUrl(inDatabase(server.url, name)),
    ownerUrl: inDatabase(server.ownerUrl, name),
    drop: () => administer(server.ownerUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

export function inDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/** Runs work on its own connection, which is closed afterwards. */
export async function inSession<Result>(
  url: string,
  work: (session: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs one statement outside any transaction. */
export const administer = (url: string, statement: string): Promise<void> =>
  inSession(url, async (session) => void (await session.query(statement)));

export const queryRows = <Row extends object>(url: string, sql: string): Promise<Row[]> =>
  inSession(url, async (session) => (await session.query<Row>(sql)).rows);
