import { Redis } from 'ioredis';
import { monotonicMs } from '#product/kernel';
import { RateLimiter } from '#product/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { addKey, addUser } from '../../support/users';
import { type ApiResponse, call, apiErrorOf } from './http';
import { RateTrialModule } from './rate-trial.module';
import { until } from '../../support/until';

const createLimitedKey = async (
  node: TestApp,
  owner: number,
  rpm: number,
): Promise<{ id: number; text: string }> => {
  const key = await addKey(node, owner);
  await node.database.query('UPDATE api_key SET rate_limit_rpm = $1 WHERE id = $2', [rpm, key.id]);
  return key;
};

const sendTrial = (node: TestApp, key: string): Promise<ApiResponse> =>
  call(node, key, 'GET', '/v1/trial/rate');

const countAllowed = (answers: readonly ApiResponse[]): number =>
  answers.filter(({ status }) => status === 200).length;

describe('Rate limits on one node', () => {
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

  test('allow a burst up to the limit, with headers for the remaining requests and the wait', async () => {
    const { text } = await createLimitedKey(app, owner, 5);
    for (let remaining = 4; remaining >= 0; remaining -= 1) {
      const { status, headers } = await sendTrial(app, text);
      expect(status).toBe(200);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('5');
      expect(headers.get('x-ratelimit-remaining-requests')).toBe(String(remaining));
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^(60\.000|59\.\d{3})s$/);
    }
    const refusal = await sendTrial(app, text);
    expect(apiErrorOf(refusal)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(40);
    expect(Number(refusal.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(refusal.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const ownKey = await call<{ rate_limit: object }>(app, text, 'GET', '/v1/key');
    expect(ownKey.body.rate_limit).toMatchObject({ limit: 5, used: 5, remaining: 0 });
  });

  test('default to the standard limit for a key without its own', async () => {
    const { text } = await addKey(app, owner);
    expect(countAllowed(await Promise.all(Array.from({ length: 10 }, () => sendTrial(app, text))))).toBe(3);
  });

  test('apply a changed limit immediately', async () => {
    const { id, text } = await createLimitedKey(app, owner, 2);
    expect(
      countAllowed([await sendTrial(app, text), await sendTrial(app, text), await sendTrial(app, text)]),
    ).toBe(2);
    await app.database.query('UPDATE api_key SET rate_limit_rpm = 3 WHERE id = $1', [id]);
    await until(async () => (await sendTrial(app, text)).status === 200);
    expect((await sendTrial(app, text)).status).toBe(429);
  });

  test('are checked synchronously', () => {
    const verdict = app.application.get(RateLimiter).take({ keyId: 1_000_000, rateLimitRpm: 1 });
    expect(verdict).toMatchObject({ allowed: true, used: 1 });
  });

  const sendWrongKey = (place: number, forwarded?: string): Promise<Response> =>
    fetch(`${app.url}/v1/trial/rate`, {
      headers: {
        authorization: `Bearer wrong-${place}`,
        ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
      },
    });

  /** Retry-After of the response in seconds; 0 if there is none. */
  const retryAfterOf = async (answer: Promise<Response>): Promise<number> => {
    const { status, headers } = await answer;
    expect(status).toBe(401);
    return Number(headers.get('retry-after'));
  };

  test('throttle wrong keys per network, while a valid key is still accepted', async () => {
    const { text } = await createLimitedKey(app, owner, 100);
    // "429 for a wrong key": a client would repeat it with the same key.
    const statuses: number[] = [];
    for (let place = 0; place < 5; place += 1) statuses.push(await retryAfterOf(sendWrongKey(place)));
    expect(statuses).toEqual([0, 0, 0, 0, 0]);
    const refusal = await sendWrongKey(8);
    expect([refusal.status, refusal.headers.get('x-should-retry')]).toEqual([401, 'false']);
    expect(await refusal.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await sendTrial(app, text)).status).toBe(200);
    // Behind a trusted proxy, each IPv6 /64 network is throttled separately.
    const network = '2001:db8:1:2';
    for (let place = 0; place < 5; place += 1)
      expect(await retryAfterOf(sendWrongKey(place, `${network}::${place}`))).toBe(0);
    expect(await retryAfterOf(sendWrongKey(9, `${network}:ffff::1`))).toBeGreaterThan(0);
    expect(await retryAfterOf(sendWrongKey(9, '2001:db8:1:3::1'))).toBe(0);
    // Entries before an untrusted address were sent by the caller and are ignored.
    expect(await retryAfterOf(sendWrongKey(9, `203.0.113.9, ${network}::1`))).toBeGreaterThan(0);
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
        // High, so that only a paused Redis times out, not a slow test machine.
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

  /** Waits until both nodes have announced themselves twice; they do so every second and see each other then. */
  async function waitForBothNodes(): Promise<void> {
    const client = new Redis(redis.url);
    const announcementTimes = async (): Promise<number[]> => {
      const list = await client.zrange('switchboard:rate:nodes', 0, -1, 'WITHSCORES');
      return list.filter((_, place) => place % 2 === 1).map(Number);
    };
    for (let round = 0; round < 2; round += 1) {
      let timesBefore: number[] = [];
      await until(async () => (timesBefore = await announcementTimes()).length === nodes.length);
      await until(async () =>
        (await announcementTimes()).every((moment) => moment > Math.max(...timesBefore)),
      );
    }
    client.disconnect();
  }

  const sendToBoth = (calls: number, key: string): Promise<ApiResponse[]> =>
    Promise.all(Array.from({ length: calls }, (_, place) => sendTrial(nodes[place % 2] as TestApp, key)));

  test('allow a burst over both nodes exactly up to the limit', async () => {
    for (const limit of [1, 7, 30]) {
      const { text } = await createLimitedKey(nodes[0] as TestApp, owner, limit);
      const answers = await sendToBoth(limit * 2 + 10, text);
      expect(countAllowed(answers)).toBe(limit);
      for (const { status, headers } of answers) {
        if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(55);
      }
      const ownKey = await call<{ rate_limit: object }>(nodes[1] as TestApp, text, 'GET', '/v1/key');
      expect(ownKey.body.rate_limit).toMatchObject({ limit, used: limit, remaining: 0 });
    }
  });

  test('free one request for each one older than a minute', async () => {
    const { id, text } = await createLimitedKey(nodes[0] as TestApp, owner, 4);
    expect(countAllowed(await sendToBoth(4, text))).toBe(4);
    // Moves two of the four calls one minute into the past instead of waiting.
    const client = new Redis(redis.url);
    const list = `switchboard:rate:key:${id}`;
    for (const place of [-1, -2]) {
      const moment = Number(await client.lindex(list, place)) - 60_000_000;
      await client.lset(list, place, String(moment));
    }
    client.disconnect();
    expect(countAllowed(await sendToBoth(10, text))).toBe(2);
  });

  test('are not granted a second time when Redis loses its data', async () => {
    const { text } = await createLimitedKey(nodes[0] as TestApp, owner, 20);
    await waitForBothNodes();
    // In turns, so that both nodes allow the same number.
    for (let call = 0; call < 20; call += 1)
      expect((await sendTrial(nodes[call % 2] as TestApp, text)).status).toBe(200);
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    const answers = await sendToBoth(24, text);
    expect(countAllowed(answers)).toBe(0);
    for (const { headers } of answers) expect(Number(headers.get('retry-after'))).toBeGreaterThan(55);
  });

  test('fall back to a share per node without waiting while Redis is paused, and become exact again', async () => {
    const { text } = await createLimitedKey(nodes[0] as TestApp, owner, 20);
    const { text: later } = await createLimitedKey(nodes[0] as TestApp, owner, 20);
    await sendToBoth(2, later);
    await waitForBothNodes();
    redis.pause?.();
    const startedAt = monotonicMs();
    const answers = await sendToBoth(60, text);
    expect(monotonicMs() - startedAt).toBeLessThan(20_000);
    expect(countAllowed(answers)).toBe(20);
    expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
    const resumedAt = monotonicMs();
    await sendToBoth(4, later);
    // Less than the Redis timeout, so no call waited for it.
    expect(monotonicMs() - resumedAt).toBeLessThan(4_000);
    redis.resume?.();
    await until(() => nodes.every(({ log }) => log.some((line) => line.includes('Redis answers again'))));
    // Calls allowed during the outage still count.
    expect(countAllowed(await sendToBoth(10, text))).toBe(0);
    expect(countAllowed(await sendToBoth(60, later))).toBeLessThanOrEqual(20);
  });

  test('stay exact after Redis is flushed', async () => {
    const { text } = await createLimitedKey(nodes[0] as TestApp, owner, 4);
    expect(countAllowed(await sendToBoth(2, text))).toBe(2);
    const client = new Redis(redis.url);
    await client.flushall();
    await client.script('FLUSH');
    client.disconnect();
    expect((await sendTrial(nodes[0] as TestApp, text)).status).toBe(200);
  });
});
