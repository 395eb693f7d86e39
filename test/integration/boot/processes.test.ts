import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../system/free-port';
import { Program } from '../../system/program';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';

let database: TestDatabase;
const programs: Program[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const program of programs) await program.stop();
  await database.drop();
});

function start(environment: Readonly<Record<string, string>>): Program {
  const program = Program.node('bundle/main.js', [], {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    DATA_FOLDER: makeScratchFolder('switchboard-processes-'),
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    DATABASE_POOL_SIZE: '3',
    DRAIN_TIMEOUT: '1s',
    ...environment,
  });
  programs.push(program);
  return program;
}

test('several processes without Redis are refused with a configuration error', async () => {
  const { code, complaint } = await start({ PROCESSES: '2' }).finish();
  expect([code, complaint]).toEqual([
    78,
    expect.stringContaining('PROCESSES: more than one needs REDIS_URL'),
  ]);
});

test.each(['0', 'many', '65'])('PROCESSES=%s is refused', async (PROCESSES) => {
  const { code, complaint } = await start({ PROCESSES }).finish();
  expect([code, complaint]).toEqual([78, expect.stringContaining('auto, or a whole number from 1 to 64')]);
});

const youngestChildOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').at(-1));

(redisAvailable ? describe : describe.skip)('two processes', () => {
  let redis: RedisServer;
  let node: Program;
  let url: string;
  let metricsPort: number;

  beforeAll(async () => {
    redis = await startRedis();
    metricsPort = await freePort();
    node = start({ PROCESSES: '2', REDIS_URL: redis.url, METRICS_PORT: String(metricsPort) });
    url = (await node.find(/ is ready at (http:\S+) \(2 processes, /))[1] ?? '';
  }, 120_000);
  afterAll(async () => {
    await node.stop();
    await redis.stop();
  });

  const metrics = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  /** Uses a new connection per request, because a reused one may belong to a process that has ended. */
  const getPath = (path: string): Promise<Response> =>
    fetch(url + path, { headers: { connection: 'close' } });
  const isHealthy = async (): Promise<boolean> => (await getPath('/health/ready')).ok;
  const processes = async (): Promise<string[]> =>
    [...(await metrics()).matchAll(/^gateway_build_info\{.*process="(\d+)"\}/gm)].map(
      ([, number = '']) => number,
    );

  test('share one port and one metrics endpoint', async () => {
    expect((await processes()).sort()).toEqual(['1', '2']);
    expect(await metrics()).toMatch(/^gateway_processes 2$/m);
    const names = [...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(names.length).toBe(new Set(names).size);
    expect(await isHealthy()).toBe(true);
  });

  test('restart a killed process while the other serves', async () => {
    const restartLine = node.find(/a process serves again/);
    process.kill(youngestChildOf(node.pid), 'SIGKILL');
    // Requests that were assigned to the process at the moment of its end are lost.
    const servedByOther = until(() => isHealthy().catch(() => false)).then(() => 'the other serves');
    expect(await Promise.race([servedByOther, restartLine])).toBe('the other serves');
    await restartLine;
    expect(await metrics()).toMatch(/^gateway_processes 2$/m);
    expect(await metrics()).toMatch(/^gateway_process_restarts_total 1$/m);
  }, 120_000);

  test('are replaced one by one on SIGHUP without a failed request', async () => {
    const failures: string[] = [];
    let isFinished = false;
    const requestLoop = (async () => {
      while (!isFinished) {
        await getPath('/health').then(
          (answer) => answer.ok || failures.push(String(answer.status)),
          (error: unknown) => failures.push(String(error)),
        );
        await delay(5);
      }
    })();
    node.signal('SIGHUP');
    await node.find(/the processes were replaced/);
    isFinished = true;
    await requestLoop;
    expect(failures).toEqual([]);
    expect((await processes()).length).toBe(2);
  }, 120_000);

  test('end together', async () => {
    node.signal('SIGTERM');
    expect(await node.ended).toBe(0);
    await expect(isHealthy()).rejects.toThrow();
  });
});

(redisAvailable ? describe : describe.skip)('two processes on the embedded database', () => {
  const folder = makeScratchFolder('switchboard-processes-');
  let redis: RedisServer;
  let node: Program;
  let port: number;

  beforeAll(async () => {
    // The database account must be able to reach its files in this folder.
    chmodSync(folder, 0o711);
    [redis, port] = [await startRedis(), await freePort()];
    node = start({
      ...{ PROCESSES: '2', REDIS_URL: redis.url, METRICS_PORT: String(port), DATA_FOLDER: folder },
      ...{ DATABASE_URL: '', MIGRATION_DATABASE_URL: '' },
    });
    await node.find(/ is ready at /);
  }, 120_000);
  afterAll(async () => {
    await node.stop();
    await redis.stop();
  });

  const events = async (): Promise<string[]> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text.match(/^# (HELP|TYPE) gateway_embedded_database_events_total/gm)).toHaveLength(2);
    return text.match(/^gateway_embedded_database_events_total\{.*$/gm) ?? [];
  };
  const expectedCounts = (ended: number, restarted: number): string[] => [
    `gateway_embedded_database_events_total{event="ended"} ${ended}`,
    'gateway_embedded_database_events_total{event="retry"} 0',
    `gateway_embedded_database_events_total{event="restarted"} ${restarted}`,
  ];

  test('a crash of the database is counted by the supervisor, which owns it', async () => {
    expect(await events()).toEqual(expectedCounts(0, 0));
    const pidFile = readFileSync(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8');
    process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL');
    await node.find(/the embedded PostgreSQL runs again/);
    expect(await events()).toEqual(expectedCounts(1, 1));
  }, 120_000);
});
