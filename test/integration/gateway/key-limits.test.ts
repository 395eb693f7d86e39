import { Redis } from 'ioredis';
import { parseUsd } from '#product/kernel';
import type { NewKey } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { type Answer, call, refusalOf } from '../keys/http';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { until } from '../../support/until';

interface Refused {
  readonly error: { readonly code: string; readonly details?: Readonly<Record<string, unknown>> };
}

const WALLET = parseUsd('100');

let supplier: Simulator;
let redis: RedisServer | null = null;
let database: TestDatabase;
let nodes: TestApp[];
let made = 0;

beforeAll(async () => {
  supplier = await startSimulator();
  if (redisAvailable) redis = await startRedis();
  database = await createTestDatabase();
  const options = {
    sharedDatabase: database,
    sandboxUrl: supplier.url,
    environment: {
      KEY_PEPPER: 'pepper of both nodes',
      WORKERS: 'off',
      ...(redis === null ? {} : { REDIS_URL: redis.url, REDIS_ANSWER_TIMEOUT: '2s' }),
    },
  };
  nodes = [
    await startTestApp(options),
    await startTestApp({ ...options, environment: { ...options.environment } }),
  ];
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  await redis?.stop();
  await database.drop();
  await supplier.stop();
});

const node = (place = 0): TestApp => nodes[place % 2]!;

const customer = (limits: Partial<NewKey>): Promise<Customer> =>
  addCustomer(node(), `limited-${(made += 1)}`, WALLET, limits);

/** Some four tokens in, so many out. */
const chat = (
  key: string,
  place = 0,
  prompt = 'Hi [[tokens=20]]',
  rest: object = { max_tokens: 30 },
): Promise<Answer> =>
  call(node(place), key, 'POST', '/v1/chat/completions', {
    model: 'sim-small',
    messages: [{ role: 'user', content: prompt }],
    ...rest,
  });

/** So many at once, again and again until none of them is let in. */
async function waves(size: number, ask: (place: number) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (;;) {
    const wave = await Promise.all(Array.from({ length: size }, (_, place) => ask(place)));
    answers.push(...wave);
    if (wave.every(({ status }) => status !== 200)) return answers;
  }
}

const detailsOf = ({ body }: Answer): unknown => (body as unknown as Refused).error.details;
const own = async (key: string, place = 0) => (await call(node(place), key, 'GET', '/v1/key')).body;
const spentOf = async ({ keyId }: Customer): Promise<bigint> => {
  const [row] = await node().database.query<{ spent: string }>(
    'SELECT coalesce(sum(cost_nano), 0) AS spent FROM request_record WHERE key_id = $1',
    [keyId],
  );
  return BigInt(row?.spent ?? 0);
};

describe('tokens a minute', () => {
  test('an estimate is taken at the start and corrected at the end; headers and the key say how it stands', async () => {
    const { key } = await customer({ rateLimitTpm: 1_000 });
    const answer = await chat(key);
    expect(answer.status).toBe(200);
    const { usage } = answer.body as { usage: { total_tokens: number } };
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('1000');
    const left = Number(answer.headers.get('x-ratelimit-remaining-tokens'));
    expect(left).toBeLessThan(1_000 - 30);
    expect(answer.headers.get('x-ratelimit-reset-tokens')).toMatch(/^(60\.000|59\.\d{3})s$/);
    await until(async () => {
      const { token_limit: state } = (await own(key)) as { token_limit: { used: number } };
      return state.used === usage.total_tokens;
    });
    expect(await own(key)).toMatchObject({ rate_limit_tpm: 1_000, token_limit: { limit: 1_000 } });
  });

  test('what does not fit is refused, and says which limit it was and how long to wait', async () => {
    const { key } = await customer({ rateLimitTpm: 100 });
    expect((await chat(key, 0, 'Hi [[tokens=60]]', { max_tokens: 70 })).status).toBe(200);
    const refused = await chat(key, 0, 'Hi [[tokens=60]]', { max_tokens: 70 });
    expect(refusalOf(refused)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(detailsOf(refused)).toMatchObject({ limit: 'rate_limit_tpm', allowed: 100 });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    const tooLarge = await chat(key, 0, 'Hi', { max_tokens: 500 });
    expect(refusalOf(tooLarge)[1]).toBe('rate_limit_exceeded');
    expect(JSON.stringify(tooLarge.body)).toContain('lower its bound');
  });

  test('a call without a bound is let in on a small limit; what failed counts nothing', async () => {
    const { key } = await customer({ rateLimitTpm: 200 });
    expect((await chat(key, 0, 'Hi [[tokens=5]]', {})).status).toBe(200);
    const other = await customer({ rateLimitTpm: 200 });
    expect((await chat(other.key, 0, 'Hi', { model: 'sim-embed', max_tokens: 30 })).status).toBe(404);
    const { token_limit: state } = (await own(other.key)) as { token_limit: { used: number } };
    expect(state.used).toBe(0);
  });

  (redisAvailable ? test : test.skip)(
    'over two nodes no more is let in than the limit, and nearly all of it',
    async () => {
      const { key } = await customer({ rateLimitTpm: 2_000 });
      const answers = await waves(60, (place) =>
        chat(key, place, 'Hi [[tokens=100]] [[delay=300]]', { max_tokens: 100 }),
      );
      const used = answers
        .filter(({ status }) => status === 200)
        .reduce((sum, { body }) => sum + (body as { usage: { total_tokens: number } }).usage.total_tokens, 0);
      expect(used).toBeLessThanOrEqual(2_000);
      expect(used).toBeGreaterThan(1_800);
      expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
    },
  );
});

describe('parallel calls', () => {
  const slow = 'Hi [[tokens=5]] [[delay=2500]]';

  test('one more than may be open is refused at once; a place is free when a call has ended', async () => {
    const { key } = await customer({ maxParallel: 2 });
    const open = [chat(key, 0, slow), chat(key, 0, slow)];
    await until(async () => {
      const { parallel } = (await own(key)) as { parallel: { open: number } };
      return parallel.open === 2;
    });
    const refused = await chat(key, 0, slow);
    expect(refusalOf(refused)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(detailsOf(refused)).toEqual({ limit: 'max_parallel', allowed: 2, open: 2 });
    expect(refused.headers.get('retry-after')).toBe('1');
    for (const answer of await Promise.all(open)) expect(answer.status).toBe(200);
    expect((await chat(key)).status).toBe(200);
    expect(await own(key)).toMatchObject({ max_parallel: 2, parallel: { limit: 2, open: 0 } });
  });

  test('a caller who leaves, and a request that is refused, leave their places', async () => {
    const { key } = await customer({ maxParallel: 1, rateLimitRpm: 1_000 });
    const leaving = new AbortController();
    const gone = fetch(`${node().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: 'Hi [[delay=30000]]' }],
      }),
      signal: leaving.signal,
    }).catch(() => null);
    await until(async () => ((await own(key)) as { parallel: { open: number } }).parallel.open === 1);
    leaving.abort();
    await gone;
    await until(async () => ((await own(key)) as { parallel: { open: number } }).parallel.open === 0);
    expect((await chat(key, 0, 'Hi', { model: 'no-such-model' })).status).toBe(404);
    expect((await chat(key)).status).toBe(200);
  });

  (redisAvailable ? test : test.skip)(
    'over two nodes never more are open than may be; a dead node frees its places',
    async () => {
      const { key, keyId } = await customer({ maxParallel: 4 });
      await supplier.clearRequests();
      const answers = await Promise.all(Array.from({ length: 40 }, (_, place) => chat(key, place, slow)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
      const client = new Redis(redis!.url);
      // Leases that end at this time, as a node leaves them that died.
      const places = `switchboard:rate:open:${keyId}`;
      const leave = async (fromNowMs: number): Promise<void> => {
        const [seconds] = await client.time();
        for (let place = 0; place < 4; place += 1)
          await client.zadd(places, Number(seconds) * 1_000 + fromNowMs, `dead:${place}`);
      };
      await leave(60_000);
      expect((await chat(key)).status).toBe(429);
      await leave(0);
      expect((await chat(key)).status).toBe(200);
      client.disconnect();
    },
  );
});

describe('budgets of models', () => {
  test('one model is refused when its budget is spent, others go on, and the books say why', async () => {
    const budget = { model: 'sim-small', limit: parseUsd('0.001'), period: 'daily' as const };
    const who = await customer({ modelBudgets: [budget] });
    await waves(60, (place) => chat(who.key, place));
    expect(await spentOf(who)).toBeLessThanOrEqual(budget.limit);
    await until(async () => {
      const answer = await chat(who.key);
      return answer.status === 402 && refusalOf(answer)[1] === 'budget_exceeded';
    });
    expect(detailsOf(await chat(who.key))).toMatchObject({ scope: 'key_model' });
    expect((await chat(who.key, 0, 'Hi', { model: 'sim-large', max_tokens: 30 })).status).toBe(200);
    const { model_budgets: shown } = (await own(who.key)) as {
      model_budgets: { model: string; used: number }[];
    };
    expect(shown).toMatchObject([{ model: 'sim-small', limit: 0.001, period: 'daily' }]);
    expect(shown[0]!.used).toBeGreaterThan(0.0009);
  });

  test('a budget that is set later counts from then on, on every node', async () => {
    const who = await customer({});
    expect((await chat(who.key, 1)).status).toBe(200);
    const [row] = await node().database.query<{ public_id: string }>(
      'SELECT public_id FROM api_key WHERE id = $1',
      [who.keyId],
    );
    const path = `/v1/manage/keys/${row!.public_id}`;
    const root = node().firstKeys?.root ?? '';
    const changed = await call(node(), root, 'PATCH', path, {
      model_budgets: [{ model: 'sim-small', limit: 0 }],
    });
    expect(changed.body).toMatchObject({
      model_budgets: [{ model: 'sim-small', limit: 0, period: 'monthly' }],
    });
    expect((await chat(who.key, 1)).status).toBe(402);
    expect((await call(node(), root, 'PATCH', path, { model_budgets: null })).body).toMatchObject({
      model_budgets: [],
    });
    expect((await chat(who.key, 1)).status).toBe(200);
  });
});

describe('periods', () => {
  test.each([
    ['weekly', /T00:00:00\.000Z$/],
    ['total', null],
  ] as const)('a %s budget ends where it should', async (period, resets) => {
    const who = await customer({ budget: { limit: parseUsd('0.0001'), period } });
    await Promise.all(Array.from({ length: 40 }, (_, place) => chat(who.key, place)));
    await until(async () => (await chat(who.key)).status === 402);
    expect(await spentOf(who)).toBeLessThanOrEqual(parseUsd('0.0001'));
    const shown = await own(who.key);
    expect(shown).toMatchObject({ budget_period: period, budget_limit: 0.0001 });
    if (resets === null) expect(shown['resets_at']).toBeNull();
    else {
      expect(shown['resets_at']).toMatch(resets);
      expect(new Date(String(shown['resets_at'])).getUTCDay()).toBe(1);
    }
  });
});
