import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { until } from '../../support/until';
import { Program } from '../../system/program';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';

const folder = makeScratchFolder('switchboard-hung-');
const extension = join(folder, 'looping.cjs');

/** A gate that never returns: synchronously, after a promise, or in an endless chain of promises. */
writeFileSync(
  extension,
  `
const loopAtOnce = () => { require('node:fs').writeSync(1, 'the gate loops\\n'); for (;;); };
const loopLater = async () => { await null; for (;;); };
const loopOfPromises = async () => { for (;;) await null; };
const loops = { loopAtOnce, loopLater, loopOfPromises };
exports.default = {
  id: 'looping', version: '1.0.0', host: '^1',
  setup: () => ({ gates: [{
    name: 'spin', timeoutMs: 100, onError: 'open',
    request: ({ model }) => loops[model]?.() ?? { verdict: 'abstain' },
  }] }),
};`,
);

let database: TestDatabase;
const programs: Program[] = [];
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const program of programs.splice(0)) await program.stop();
  await database.drop();
});

interface HungTestService {
  readonly program: Program;
  readonly url: string;
  readonly call: (model: string) => Promise<Response>;
}

async function start(environment: Readonly<Record<string, string>> = {}): Promise<HungTestService> {
  const program = Program.node('bundle/main.js', [], {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    SANDBOX: 'off',
    DATA_FOLDER: makeScratchFolder('switchboard-hung-data-'),
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    DATABASE_POOL_SIZE: '3',
    DRAIN_TIMEOUT: '1s',
    EXTENSIONS: extension,
    WATCHDOG_TIMEOUT: '5s',
    ...environment,
  });
  programs.push(program);
  const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
  const [, key = ''] = await program.find(/demo key +(svc_\w+)/);
  return {
    program,
    url,
    call: (model) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      }),
  };
}

async function findHungLine(program: Program): Promise<Record<string, unknown>> {
  const [line = ''] = await program.find(/^.*the event loop was blocked.*$/m);
  return JSON.parse(line) as Record<string, unknown>;
}

// "one process: a watchdog thread logs and ends it" and "logs which gate or extension was running"
test.each([['loopAtOnce'], ['loopLater'], ['loopOfPromises']])(
  'a process whose gate never returns (%s) logs the extension and ends',
  async (model) => {
    const { program, call } = await start();
    expect((await call('no-such-model')).status).toBe(404);
    await expect(call(model)).rejects.toThrow();
    expect(await findHungLine(program)).toMatchObject({
      level: 'fatal',
      extension: 'looping',
      error: { stack: expect.stringMatching(new RegExp(`at ${model} \\(.*looping\\.cjs:\\d+:\\d+\\)`)) },
    });
    // Killed by a signal, so there is no exit code.
    expect(await program.ended).toBeNull();
  },
  120_000,
);

// "A hung process (PROCESSES=2, a gate loops) is never replaced … Wanted: supervisor replaces a process that is silent"
(redisAvailable ? describe : describe.skip)('two processes', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test('replace one whose gate never returns, and every new connection is answered', async () => {
    const { program, url, call } = await start({ PROCESSES: '2', REDIS_URL: redis.url });
    await until(async () => (await call('no-such-model')).status === 404);
    const failedCall = expect(call('loopAtOnce')).rejects.toThrow();
    await program.find(/the gate loops/);
    // Connections assigned to the hung process are served by the other process once it has ended.
    const responses = Array.from({ length: 4 }, () =>
      fetch(`${url}/health/ready`, { headers: { connection: 'close' } }),
    );
    const hungLine = await findHungLine(program);
    expect(hungLine).toMatchObject({ level: 'fatal', extension: 'looping' });
    await failedCall;
    for (const answer of responses) expect((await answer).status).toBe(200);
    const [line = ''] = await program.find(/^.*a process serves again.*$/m);
    expect(JSON.parse(line)).toMatchObject({ about_process: hungLine['process'] });
  }, 120_000);
});
