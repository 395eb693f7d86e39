import { startTestApp, type TestApp } from '../../../support/app';
import { administer, createTestDatabase, type TestDatabase } from '../../../support/postgres';
import { type Simulator, startSimulator } from '../../../support/simulator';
import { until } from '../../../support/until';

let database: TestDatabase;
let supplier: Simulator;
let app: TestApp;
beforeAll(async () => {
  [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
  app = await startTestApp({ sandboxUrl: supplier.url, sharedDatabase: database });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
  await database.drop();
});

const readinessStatus = async (): Promise<number> => (await fetch(`${app.url}/health/ready`)).status;
const requestStatus = async (): Promise<number> => {
  const answer = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'one' }] }),
  });
  await answer.arrayBuffer();
  return answer.status;
};

/** Simulates a failover to a standby: sessions reconnect and can only read. */
async function makeReadOnly(isReadOnly: boolean): Promise<void> {
  const name = new URL(database.ownerUrl).pathname.slice(1);
  const administration = new URL(database.ownerUrl);
  administration.pathname = '/postgres';
  const change = isReadOnly
    ? 'SET default_transaction_read_only = on'
    : 'RESET default_transaction_read_only';
  await administer(administration.href, `ALTER DATABASE ${name} ${change}`);
  await administer(
    administration.href,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
}

test('node is not ready while its database is read-only and calls are refused, and recovers afterwards', async () => {
  expect([await requestStatus(), await readinessStatus()]).toEqual([200, 200]);
  await makeReadOnly(true);
  await until(async () => (await readinessStatus()) === 503);
  await until(async () => (await requestStatus()) === 503);
  expect(await readinessStatus()).toBe(503);
  await makeReadOnly(false);
  await until(async () => (await requestStatus()) === 200);
  await until(async () => (await readinessStatus()) === 200);
});
