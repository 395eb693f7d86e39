import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { applicationUrl } from '#inside/platform/database/connection-url';
import { testServer } from './test-server';

export interface TestDatabase {
  /** As the service connects: with the rights of the application's role. */
  url: string;
  /** As migrations connect. */
  ownerUrl: string;
  drop(): Promise<void>;
}

/** A migrated database of one's own, cloned from the template: one a test file. */
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

/** On a connection of its own, which ends with the work. */
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

/** One statement outside any transaction. */
export const administer = (url: string, statement: string): Promise<void> =>
  inSession(url, async (session) => void (await session.query(statement)));

export const rowsOf = <Row extends object>(url: string, sql: string): Promise<Row[]> =>
  inSession(url, async (session) => (await session.query<Row>(sql)).rows);
