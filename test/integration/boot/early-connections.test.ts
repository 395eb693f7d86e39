import { randomBytes } from 'node:crypto';
import { startTestApp } from '../../support/app';
import { administer, createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

let shared: TestDatabase;

beforeAll(async () => {
  shared = await createTestDatabase();
});
afterAll(() => shared.drop());

/** Counts the service's connections to the test database, excluding the counting one. */
async function countConnections(): Promise<number> {
  const [row] = await queryRows<{ count: number }>(
    shared.ownerUrl,
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  );
  return row?.count ?? -1;
}

/** A login without the application's rights, which the start grants. */
async function createNewLogin(): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `stranger_${randomBytes(4).toString('hex')}`;
  await administer(shared.ownerUrl, `CREATE ROLE ${name} LOGIN PASSWORD 'stranger'`);
  const address = new URL(shared.ownerUrl);
  address.username = name;
  address.password = 'stranger';
  return { url: address.href, drop: () => administer(shared.ownerUrl, `DROP ROLE ${name}`) };
}

test('a connection opened before the database grants access is replaced once it does', async () => {
  const newLogin = await createNewLogin();
  const app = await startTestApp({ sharedDatabase: { url: newLogin.url, ownerUrl: shared.ownerUrl } });
  try {
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
  } finally {
    await app.close();
    await newLogin.drop();
  }
});

test('a start that cannot migrate the database leaves no connection open', async () => {
  const wrongUrl = new URL(shared.ownerUrl);
  wrongUrl.password = 'not the password';
  await expect(
    startTestApp({ sharedDatabase: { url: shared.url, ownerUrl: wrongUrl.href } }),
  ).rejects.toThrow('password authentication failed');
  // The server notices a closed connection with a short delay.
  await until(async () => (await countConnections()) === 0);
});
