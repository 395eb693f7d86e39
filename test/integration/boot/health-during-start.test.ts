import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { freePort } from '../../system/free-port';
import { Program } from '../../system/program';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';

/*
 * "/health/live is closed during start and migration": "live answers from the first second". A transaction of the test
 * locks the migrations table, so the start waits while the test runs.
 */
let database: TestDatabase;
let lockHolder: Client;
let node: Program | undefined;
let redis: RedisServer | undefined;
let url: string;

beforeEach(async () => {
  database = await createTestDatabase();
  lockHolder = new Client({ connectionString: database.ownerUrl });
  await lockHolder.connect();
  await lockHolder.query('BEGIN; LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE');
});
afterEach(async () => {
  await lockHolder.end();
  await node?.stop();
  await redis?.stop();
  await database.drop();
});

async function start(extraEnvironment: Readonly<Record<string, string>> = {}): Promise<Program> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  return (node = Program.node('bundle/main.js', [], {
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    PORT: String(port),
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    SANDBOX: 'off',
    DATA_FOLDER: makeScratchFolder('switchboard-health-during-start-'),
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    DATABASE_POOL_SIZE: '3',
    DRAIN_TIMEOUT: '1s',
    ...extraEnvironment,
  }));
}

const statusOf = (path: string): Promise<number | null> =>
  fetch(url + path).then(
    ({ status }) => status,
    () => null,
  );

async function checkStart(program: Program): Promise<void> {
  await until(async () => (await statusOf('/health/live')) !== null, 60_000);
  expect(await statusOf('/health/live')).toBe(200);
  const ready = await fetch(`${url}/health/ready`);
  expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '1']);
  expect(JSON.stringify(await ready.json())).toContain('The service is starting');
  const chatResponse = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' });
  expect([chatResponse.status, chatResponse.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await chatResponse.json()).toMatchObject({ error: { code: 'service_unavailable' } });
  const message = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' });
  expect([message.status, await message.json()]).toMatchObject([503, { type: 'error' }]);
  expect(await statusOf('/login')).toBe(503);
  await lockHolder.query('ROLLBACK');
  await program.find(/ is ready at (http:\S+)/);
  expect(await statusOf('/health/ready')).toBe(200);
  expect(await statusOf('/login')).toBe(200);
  expect(await statusOf('/v1/models')).toBe(401);
}

test('/health/live answers while the start waits for a migration', async () => {
  await checkStart(await start());
}, 120_000);

(redisAvailable ? test : test.skip)(
  '/health/live answers while the first of two processes starts',
  async () => {
    redis = await startRedis();
    await checkStart(await start({ PROCESSES: '2', REDIS_URL: redis.url }));
  },
  120_000,
);
