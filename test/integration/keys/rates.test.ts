import { Redis } from 'ioredis';
import { monotonicMs } from '#product/kernel';
import { RateLimiter } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { addKey, addUser } from '../../support/people';
import { type Answer, call, refusalOf } from './http';
import { RateTrialModule } from './rate-trial.module';
import { until } from '../../support/until';

const limited = async (node: TestApp, owner: number, rpm: number): Promise<{ id: number; text: string }> => {
  const key = await addKey(node, owner);
  await node.database.query('UPDATE api_key SET rate_limit_rpm = $1 WHERE id = $2', [rpm, key.id]);
  return key;
};

const ask = (node: TestApp, key: string): Promise<Answer> => call(node, key, 'GET', '/v1/trial/rate');

const letIn = (answers: readonly Answer[]): number => answers.filter(({ status }) => status === 200).length;

describe('on one node', () => {
  let app: TestApp;
  let owner: number;

  beforeAll(async () => {
    app = await startTestApp({
      modules: [RateTrialModule],
      environment: { KEY_RATE_LIMIT_RPM: '3', KEY_FAILURES_PER_MINUTE: '5' },
    });
    owner = await addUser(app);
  });
  afterAll(() => app.close());

  test('a burst is let in up to the limit, told how it stands, and told how long to wait', async () => {
    const { text } = await limited(app, owner, 5);
    for (let left = 4; left >= 0; left -= 1) {
      const { status, headers } = await ask(app, text);
      expect(status).toBe(200);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('5');
      expect(headers.get('x-ratelimit-remaining-requests')).toBe(String(left));
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^(60\.000|59\.\d{3})s$/);
    }
    const refused = await ask(app, text);
    expect(refusalOf(refused)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(40);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const own = await call<{ rate_limit: object }>(app, text, 'GET', '/v1/key');
    expect(own.body.rate_limit).toMatchObject({ limit: 5, used: 5, remaining: 0 });
  });

  test('a key without a limit of its own has the usual one', async () => {
    const { text } = await addKey(app, owner);
    expect(letIn(await Promise.all(Array.from({ length: 10 }, () => ask(app, text))))).toBe(3);
  });

  test('another limit counts at once', async () => {
    const { id, text } = await limited(app, owner, 2);
    expect(letIn([await ask(app, text), await ask(app, text), await ask(app, text)])).toBe(2);
    await app.database.query('UPDATE api_key SET rate_limit_rpm = 3 WHERE id = $1', [id]);
    await until(async () => (await ask(app, text)).status === 200);
    expect((await ask(app, text)).status).toBe(429);
  });

  test('the limiter answers without a promise', () => {
    const verdict = app.application.get(RateLimiter).take({ keyId: 1_000_000, rateLimitRpm: 1 });
    expect(verdict).toMatchObject({ allowed: true, used: 1 });
  });

  const wrong = (place: number, forwarded?: string): Promise<Response> =>
    fetch(`${app.url}/v1/trial/rate`, {
      headers: {
        authorization: `Bearer wrong-${place}`,
        ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
      },
    });

  /** The wait of a refusal in seconds, 0 if there is none. */
  const waitFor = async (answer: Promise<Response>): Promise<number> => {
    const { status, headers } = await answer;
    expect(status).toBe(401);
    return Number(headers.get('retry-after'));
  };

  test('whoever tries wrong keys is told to wait, by network; a right key is let in all the same', async () => {
    const { text } = await limited(app, owner, 100);
    // "429 for a wrong key": a client would repeat it with the same key.
    const statuses: number[] = [];
    for (let place = 0; place < 5; place += 1) statuses.push(await waitFor(wrong(place)));
    expect(statuses).toEqual([0, 0, 0, 0, 0]);
    const refused = await wrong(8);
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([401, 'false']);
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask(app, text)).status).toBe(200);
    // A trusted proxy speaks for others: one IPv6 network is one address, another one another.
    const network = '2001:db8:1:2';
    for (let place = 0; place < 5; place += 1)
      expect(await waitFor(wrong(place, `${network}::${place}`))).toBe(0);
    expect(await waitFor(wrong(9, `${network}:ffff::1`))).toBeGreaterThan(0);
    expect(await waitFor(wrong(9, '2001:db8:1:3::1'))).toBe(0);
    // The text before an address that is not trusted is the caller's own invention.
    expect(await waitFor(wrong(9, `203.0.113.9, ${network}::1`))).toBeGreaterThan(0);
  });
});

(redisAvailable ? describe : describe.skip)('over two nodes with Redis', () => {
  let database: TestDatabase;
  let redis: RedisServer;
  let nodes: TestApp[];
  let owner: number;

  beforeAll(async () => {
    redis = await startRedis();
    database = await createTestDatabase();
    const options = {
      modules: [RateTrialModule],
      sharedDatabase: database,
      environment: {
        REDIS_URL: redis.url,
        // On a busy machine it is not late for that; only a paused one is.
        REDIS_ANSWER_TIMEOUT: '4s',
        KEY_PEPPER: 'pepper of both nodes',
        WORKERS: 'off',
      },
    };
    nodes = [await startTestApp(options), await startTestApp(options)];
    owner = await addUser(nodes[0] as TestApp);
  });
  afterAll(async () => {
    redis.resume?.();
    try {
      for (const node of nodes) await node.close();
    } finally {
      await redis.stop();
    }
    await database.drop();
  });

  /** Nodes say once a second that they are there, and hear of the others then: both have said so after the other. */
  async function haveMet(): Promise<void> {
    const client = new Redis(redis.url);
    const heard = async (): Promise<number[]> => {
      const list = await client.zrange('switchboard:rate:nodes', 0, -1, 'WITHSCORES');
      return list.filter((_, place) => place % 2 === 1).map(Number);
    };
    for (let round = 0; round < 2; round += 1) {
      let before: number[] = [];
      await until(async () => (before = await heard()).length === nodes.length);
      await until(async () => (await heard()).every((moment) => moment > Math.max(...before)));
    }
    client.disconnect();
  }

  const both = (calls: number, key: string): Promise<Answer[]> =>
    Promise.all(Array.from({ length: calls }, (_, place) => ask(nodes[place % 2] as TestApp, key)));

  test('a burst over both is let in up to the limit and not once more', async () => {
    for (const limit of [1, 7, 30]) {
      const { text } = await limited(nodes[0] as TestApp, owner, limit);
      const answers = await both(limit * 2 + 10, text);
      expect(letIn(answers)).toBe(limit);
      for (const { status, headers } of answers) {
        if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(55);
      }
      const own = await call<{ rate_limit: object }>(nodes[1] as TestApp, text, 'GET', '/v1/key');
      expect(own.body.rate_limit).toMatchObject({ limit, used: limit, remaining: 0 });
    }
  });

  test('the window slides: what is older than a minute makes room, one for one', async () => {
    const { id, text } = await limited(nodes[0] as TestApp, owner, 4);
    expect(letIn(await both(4, text))).toBe(4);
    // The past is moved rather than waited for: two of the four calls become a minute old.
    const client = new Redis(redis.url);
    const list = `switchboard:rate:key:${id}`;
    for (const place of [-1, -2]) {
      const moment = Number(await client.lindex(list, place)) - 60_000_000;
      await client.lset(list, place, String(moment));
    }
    client.disconnect();
    expect(letIn(await both(10, text))).toBe(2);
  });

  test('a Redis that has forgotten everything does not give the limit a second time', async () => {
    const { text } = await limited(nodes[0] as TestApp, owner, 20);
    await haveMet();
    // One after the other, so that both nodes let in as many.
    for (let call = 0; call < 20; call += 1)
      expect((await ask(nodes[call % 2] as TestApp, text)).status).toBe(200);
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    const answers = await both(24, text);
    expect(letIn(answers)).toBe(0);
    for (const { headers } of answers) expect(Number(headers.get('retry-after'))).toBeGreaterThan(55);
  });

  test('with Redis paused nobody waits, each node lets in its share, and then all is exact again', async () => {
    const { text } = await limited(nodes[0] as TestApp, owner, 20);
    const { text: later } = await limited(nodes[0] as TestApp, owner, 20);
    await both(2, later);
    await haveMet();
    redis.pause?.();
    const startedAt = monotonicMs();
    const answers = await both(60, text);
    expect(monotonicMs() - startedAt).toBeLessThan(20_000);
    expect(letIn(answers)).toBe(20);
    expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
    const again = monotonicMs();
    await both(4, later);
    // None waits for the four seconds.
    expect(monotonicMs() - again).toBeLessThan(4_000);
    redis.resume?.();
    await until(() => nodes.every(({ log }) => log.some((line) => line.includes('Redis answers again'))));
    // Calls that were let in meanwhile still count.
    expect(letIn(await both(10, text))).toBe(0);
    expect(letIn(await both(60, later))).toBeLessThanOrEqual(20);
  });

  test('a flushed Redis is not an outage', async () => {
    const { text } = await limited(nodes[0] as TestApp, owner, 4);
    expect(letIn(await both(2, text))).toBe(2);
    const client = new Redis(redis.url);
    await client.flushall();
    await client.script('FLUSH');
    client.disconnect();
    expect((await ask(nodes[0] as TestApp, text)).status).toBe(200);
  });
});
