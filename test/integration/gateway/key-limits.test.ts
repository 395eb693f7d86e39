import { Redis } from 'ioredis';
import { parseUsd } from '#product/kernel';
import type { NewKey } from '../../../src/keys';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';
import { type ApiResponse, call, apiErrorOf } from '../keys/http';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { until } from '../../support/until';

interface RefusalBody {
  readonly error: { readonly code: string; readonly details?: Readonly<Record<string, unknown>> };
}

const WALLET = parseUsd('100');

let supplier: Simulator;
let redis: RedisServer | null = null;
let database: TestDatabase;
let nodes: TestApp[];
let customerCount = 0;

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

const node = (index = 0): TestApp => nodes[index % 2]!;

const customer = (limits: Partial<NewKey>): Promise<Customer> =>
  addCustomer(node(), `limited-${(customerCount += 1)}`, WALLET, limits);

/** About four input tokens, and as many output tokens as the prompt says. */
const chat = (
  key: string,
  nodeIndex = 0,
  prompt = 'Hi [[tokens=20]]',
  rest: object = { max_tokens: 30 },
): Promise<ApiResponse> =>
  call(node(nodeIndex), key, 'POST', '/v1/chat/completions', {
    model: 'sim-small',
    messages: [{ role: 'user', content: prompt }],
    ...rest,
  });

/** Sends waves of concurrent requests until a wave has no success. */
async function sendWaves(
  size: number,
  send: (place: number) => Promise<ApiResponse>,
): Promise<ApiResponse[]> {
  const answers: ApiResponse[] = [];
  for (;;) {
    const wave = await Promise.all(Array.from({ length: size }, (_, place) => send(place)));
    answers.push(...wave);
    if (wave.every(({ status }) => status !== 200)) return answers;
  }
}

const detailsOf = ({ body }: ApiResponse): unknown => (body as unknown as RefusalBody).error.details;
const readOwnKey = async (key: string, nodeIndex = 0) =>
  (await call(node(nodeIndex), key, 'GET', '/v1/key')).body;
const spentOf = async ({ keyId }: Customer): Promise<bigint> => {
  const [row] = await node().database.query<{ spent: string }>(
    'SELECT coalesce(sum(cost_nano), 0) AS spent FROM request_record WHERE key_id = $1',
    [keyId],
  );
  return BigInt(row?.spent ?? 0);
};

describe('Tokens per minute', () => {
  test('estimate is reserved at the start and corrected at the end, as headers and the key show', async () => {
    const { key } = await customer({ rateLimitTpm: 1_000 });
    const answer = await chat(key);
    expect(answer.status).toBe(200);
    const { usage } = answer.body as { usage: { total_tokens: number } };
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('1000');
    const remainingTokens = Number(answer.headers.get('x-ratelimit-remaining-tokens'));
    expect(remainingTokens).toBeLessThan(1_000 - 30);
    expect(answer.headers.get('x-ratelimit-reset-tokens')).toMatch(/^(60\.000|59\.\d{3})s$/);
    await until(async () => {
      const { token_limit: state } = (await readOwnKey(key)) as { token_limit: { used: number } };
      return state.used === usage.total_tokens;
    });
    expect(await readOwnKey(key)).toMatchObject({ rate_limit_tpm: 1_000, token_limit: { limit: 1_000 } });
  });

  test("request above the limit returns 429 with the limit's name and retry-after", async () => {
    const { key } = await customer({ rateLimitTpm: 100 });
    expect((await chat(key, 0, 'Hi [[tokens=60]]', { max_tokens: 70 })).status).toBe(200);
    const refusal = await chat(key, 0, 'Hi [[tokens=60]]', { max_tokens: 70 });
    expect(apiErrorOf(refusal)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(detailsOf(refusal)).toMatchObject({ limit: 'rate_limit_tpm', allowed: 100 });
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(50);
    const tooLargeRefusal = await chat(key, 0, 'Hi', { max_tokens: 500 });
    expect(apiErrorOf(tooLargeRefusal)[1]).toBe('rate_limit_exceeded');
    expect(JSON.stringify(tooLargeRefusal.body)).toContain('lower its bound');
  });

  test('request without max_tokens is accepted on a small limit, and a failed request uses no tokens', async () => {
    const { key } = await customer({ rateLimitTpm: 200 });
    expect((await chat(key, 0, 'Hi [[tokens=5]]', {})).status).toBe(200);
    const otherCustomer = await customer({ rateLimitTpm: 200 });
    expect((await chat(otherCustomer.key, 0, 'Hi', { model: 'sim-embed', max_tokens: 30 })).status).toBe(404);
    const { token_limit: state } = (await readOwnKey(otherCustomer.key)) as { token_limit: { used: number } };
    expect(state.used).toBe(0);
  });

  (redisAvailable ? test : test.skip)(
    'over two nodes no more is let in than the limit, and nearly all of it',
    async () => {
      const { key } = await customer({ rateLimitTpm: 2_000 });
      const answers = await sendWaves(60, (place) =>
        chat(key, place, 'Hi [[tokens=100]] [[delay=300]]', { max_tokens: 100 }),
      );
      const usedTokens = answers
        .filter(({ status }) => status === 200)
        .reduce((sum, { body }) => sum + (body as { usage: { total_tokens: number } }).usage.total_tokens, 0);
      expect(usedTokens).toBeLessThanOrEqual(2_000);
      expect(usedTokens).toBeGreaterThan(1_800);
      expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
    },
  );
});

describe('Parallel requests', () => {
  const slowPrompt = 'Hi [[tokens=5]] [[delay=2500]]';

  test('request above max_parallel returns 429 immediately, and a finished request frees its slot', async () => {
    const { key } = await customer({ maxParallel: 2 });
    const openRequests = [chat(key, 0, slowPrompt), chat(key, 0, slowPrompt)];
    await until(async () => {
      const { parallel } = (await readOwnKey(key)) as { parallel: { open: number } };
      return parallel.open === 2;
    });
    const refusal = await chat(key, 0, slowPrompt);
    expect(apiErrorOf(refusal)).toEqual([429, 'rate_limit_exceeded', null]);
    expect(detailsOf(refusal)).toEqual({ limit: 'max_parallel', allowed: 2, open: 2 });
    expect(refusal.headers.get('retry-after')).toBe('1');
    for (const answer of await Promise.all(openRequests)) expect(answer.status).toBe(200);
    expect((await chat(key)).status).toBe(200);
    expect(await readOwnKey(key)).toMatchObject({ max_parallel: 2, parallel: { limit: 2, open: 0 } });
  });

  test('disconnected client and rejected request free their slots', async () => {
    const { key } = await customer({ maxParallel: 1, rateLimitRpm: 1_000 });
    const controller = new AbortController();
    const abandonedRequest = fetch(`${node().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: 'Hi [[delay=30000]]' }],
      }),
      signal: controller.signal,
    }).catch(() => null);
    await until(async () => ((await readOwnKey(key)) as { parallel: { open: number } }).parallel.open === 1);
    controller.abort();
    await abandonedRequest;
    await until(async () => ((await readOwnKey(key)) as { parallel: { open: number } }).parallel.open === 0);
    expect((await chat(key, 0, 'Hi', { model: 'no-such-model' })).status).toBe(404);
    expect((await chat(key)).status).toBe(200);
  });

  (redisAvailable ? test : test.skip)(
    'over two nodes never more are open than may be; a dead node frees its places',
    async () => {
      const { key, keyId } = await customer({ maxParallel: 4 });
      await supplier.clearRequests();
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, place) => chat(key, place, slowPrompt)),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
      const client = new Redis(redis!.url);
      // Leases that end at this time, as a node that died leaves them.
      const slotsKey = `switchboard:rate:open:${keyId}`;
      const leaveLeases = async (fromNowMs: number): Promise<void> => {
        const [seconds] = await client.time();
        for (let place = 0; place < 4; place += 1)
          await client.zadd(slotsKey, Number(seconds) * 1_000 + fromNowMs, `dead:${place}`);
      };
      await leaveLeases(60_000);
      expect((await chat(key)).status).toBe(429);
      await leaveLeases(0);
      expect((await chat(key)).status).toBe(200);
      client.disconnect();
    },
  );
});

describe('Model budgets', () => {
  test('model whose budget is spent returns 402 while other models work, and the key shows the usage', async () => {
    const budget = { model: 'sim-small', limit: parseUsd('0.001'), period: 'daily' as const };
    const budgetCustomer = await customer({ modelBudgets: [budget] });
    await sendWaves(60, (place) => chat(budgetCustomer.key, place));
    expect(await spentOf(budgetCustomer)).toBeLessThanOrEqual(budget.limit);
    await until(async () => {
      const answer = await chat(budgetCustomer.key);
      return answer.status === 402 && apiErrorOf(answer)[1] === 'budget_exceeded';
    });
    expect(detailsOf(await chat(budgetCustomer.key))).toMatchObject({ scope: 'key_model' });
    expect((await chat(budgetCustomer.key, 0, 'Hi', { model: 'sim-large', max_tokens: 30 })).status).toBe(
      200,
    );
    const { model_budgets: shown } = (await readOwnKey(budgetCustomer.key)) as {
      model_budgets: { model: string; used: number }[];
    };
    expect(shown).toMatchObject([{ model: 'sim-small', limit: 0.001, period: 'daily' }]);
    expect(shown[0]!.used).toBeGreaterThan(0.0009);
  });

  test('model budget added later applies immediately on every node', async () => {
    const budgetCustomer = await customer({});
    expect((await chat(budgetCustomer.key, 1)).status).toBe(200);
    const [row] = await node().database.query<{ public_id: string }>(
      'SELECT public_id FROM api_key WHERE id = $1',
      [budgetCustomer.keyId],
    );
    const path = `/v1/manage/keys/${row!.public_id}`;
    const root = node().firstKeys?.root ?? '';
    const updateResponse = await call(node(), root, 'PATCH', path, {
      model_budgets: [{ model: 'sim-small', limit: 0 }],
    });
    expect(updateResponse.body).toMatchObject({
      model_budgets: [{ model: 'sim-small', limit: 0, period: 'monthly' }],
    });
    expect((await chat(budgetCustomer.key, 1)).status).toBe(402);
    expect((await call(node(), root, 'PATCH', path, { model_budgets: null })).body).toMatchObject({
      model_budgets: [],
    });
    expect((await chat(budgetCustomer.key, 1)).status).toBe(200);
  });
});

describe('Budget periods', () => {
  test.each([
    ['weekly', /T00:00:00\.000Z$/],
    ['total', null],
  ] as const)('%s budget resets when its period ends', async (period, resets) => {
    const budgetCustomer = await customer({ budget: { limit: parseUsd('0.0001'), period } });
    await Promise.all(Array.from({ length: 40 }, (_, place) => chat(budgetCustomer.key, place)));
    await until(async () => (await chat(budgetCustomer.key)).status === 402);
    expect(await spentOf(budgetCustomer)).toBeLessThanOrEqual(parseUsd('0.0001'));
    const ownKey = await readOwnKey(budgetCustomer.key);
    expect(ownKey).toMatchObject({ budget_period: period, budget_limit: 0.0001 });
    if (resets === null) expect(ownKey['resets_at']).toBeNull();
    else {
      expect(ownKey['resets_at']).toMatch(resets);
      expect(new Date(String(ownKey['resets_at'])).getUTCDay()).toBe(1);
    }
  });
});
