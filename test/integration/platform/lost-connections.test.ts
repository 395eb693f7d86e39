import { Pool } from 'pg';
import { resilientPoolOptions } from '#product/platform';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type DatabaseProxy, startDatabaseProxy } from '../../support/proxy';

let database: TestDatabase;
let proxy: DatabaseProxy;
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

test('a connection that ends during its start-up packet is never handed out', async () => {
  const pool = new Pool({ ...resilientPoolOptions, connectionString: proxy.url, max: 2 });
  const idle: unknown[] = [];
  pool.on('error', (error) => idle.push(error));
  try {
    proxy.endNewConnections();
    const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => pool.connect()));
    for (const attempt of attempts) if (attempt.status === 'fulfilled') attempt.value.release(true);
    const reasons = attempts.map((attempt) =>
      attempt.status === 'rejected' ? (attempt.reason as Error).message : 'handed out',
    );
    expect(reasons).toEqual(Array(6).fill('terminating connection due to administrator command'));
    expect(pool.totalCount).toBe(0);
    expect(idle).toEqual([]);
    await proxy.cut();
    await proxy.restore();
    const { rows } = await pool.query<{ one: number }>('SELECT 1 AS one');
    expect(rows).toEqual([{ one: 1 }]);
  } finally {
    await pool.end();
  }
});

test('a connection that is lost later emits an error to its user', async () => {
  const pool = new Pool({ ...resilientPoolOptions, connectionString: proxy.url, max: 1 });
  try {
    const client = await pool.connect();
    const lossError = new Promise<Error>((resolve) => client.once('error', resolve));
    await proxy.cut();
    expect((await lossError).message).toContain('Connection terminated unexpectedly');
    client.release(true);
    await proxy.restore();
    await expect(pool.query('SELECT 1')).resolves.toMatchObject({ rowCount: 1 });
  } finally {
    await pool.end();
  }
});
