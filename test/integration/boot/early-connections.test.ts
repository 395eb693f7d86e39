import { randomBytes } from 'node:crypto';
import { startTestApp } from '../../support/app';
import { administer, createTestDatabase, rowsOf, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

let shared: TestDatabase;

beforeAll(async () => {
  shared = await createTestDatabase();
});
afterAll(() => shared.drop());

/** Connections of the service to the test's database, apart from the one that asks. */
async function connections(): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    shared.ownerUrl,
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  );
  return row?.count ?? -1;
}

/** A login that may not yet work as the application: the start admits it. */
async function strangerUrl(): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `stranger_${randomBytes(4).toString('hex')}`;
  await administer(shared.ownerUrl, `CREATE ROLE ${name} LOGIN PASSWORD 'stranger'`);
  const address = new URL(shared.ownerUrl);
  address.username = name;
  address.password = 'stranger';
  return { url: address.href, drop: () => administer(shared.ownerUrl, `DROP ROLE ${name}`) };
}

test('whoever connected too early is connected once the database admits it', async () => {
  const stranger = await strangerUrl();
  const app = await startTestApp({ sharedDatabase: { url: stranger.url, ownerUrl: shared.ownerUrl } });
  try {
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
  } finally {
    await app.close();
    await stranger.drop();
  }
});

test('a start that cannot bring the database up to date leaves no connection behind', async () => {
  const wrong = new URL(shared.ownerUrl);
  wrong.password = 'not the password';
  await expect(startTestApp({ sharedDatabase: { url: shared.url, ownerUrl: wrong.href } })).rejects.toThrow(
    'password authentication failed',
  );
  // The server takes a moment to see that a connection is closed.
  await until(async () => (await connections()) === 0);
});
