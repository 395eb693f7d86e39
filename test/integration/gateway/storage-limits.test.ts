import { randomUUID } from 'node:crypto';
import { ResponseStore } from '#product/gateway';
import { Metrics } from '#product/platform';
import { IdempotencyStore } from '#inside/web/idempotency/idempotency-store';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';

/*
 * "One key fills the disk for cents: kept idempotent answers 167 MB for $0.0006 (695 GB a day at the usual rate)".
 * Scaled down 64 times: 167 answers of 16 KiB against a limit of 1 MiB.
 */
const ANSWERS = 167;
const ANSWER_BYTES = 16 * 1024;
const LIMIT_BYTES = 1024 * 1024;

let supplier: Simulator;
let app: TestApp;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({
    sandboxUrl: supplier.url,
    environment: { IDEMPOTENT_ANSWERS_KEY_LIMIT: '1MiB', RESPONSES_STORE_KEY_LIMIT: '1MiB' },
  });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const sumOf = async (query: string, keyId: number): Promise<number> => {
  const [row] = await app.database.query<{ bytes: number }>(
    `SELECT coalesce(sum(bytes), 0)::integer AS bytes FROM (${query}) AS stored WHERE key_id = $1`,
    [keyId],
  );
  return row?.bytes ?? 0;
};
const answerBytes = (keyId: number): Promise<number> =>
  sumOf('SELECT key_id, octet_length(ciphertext) AS bytes FROM idempotent_answer', keyId);
const responseBytes = (keyId: number): Promise<number> =>
  sumOf(
    'SELECT key_id, octet_length(answer) + coalesce(octet_length(input), 0) AS bytes FROM kept_response',
    keyId,
  );

const evictionsOf = async (kind: string): Promise<number> => {
  const text = await app.application.get(Metrics, { strict: false }).text();
  return Number(
    new RegExp(`^gateway_storage_limited_total\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
  );
};

async function storeAnswer(keyId: number, answer: Buffer): Promise<void> {
  const answers = app.application.get(IdempotencyStore, { strict: false });
  const claim = randomUUID();
  const operation = {
    keyId,
    keyHash: Buffer.from(randomUUID()),
    requestHash: Buffer.from('a request'),
    requestId: randomUUID(),
  };
  await answers.claim(claim, operation, null);
  await answers.store(claim, operation, answer);
}

test('idempotent answers of a key stay within its limit, and an evicted request does not run again', async () => {
  const { key, keyId } = await addCustomer(app, 'hoarder', 1_000_000_000n);
  const { keyId: otherId } = await addCustomer(app, 'neighbour', 1_000_000_000n);
  await storeAnswer(otherId, Buffer.alloc(ANSWER_BYTES));
  const send = () =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'the-first',
      },
      body: JSON.stringify({
        model: 'sim-small',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    });
  expect((await send()).status).toBe(200);

  const sizes: number[] = [];
  for (let count = 0; count < ANSWERS; count += 1) {
    await storeAnswer(keyId, Buffer.alloc(ANSWER_BYTES));
    sizes.push(await answerBytes(keyId));
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMIT_BYTES);
  // Eviction leaves more than half of the limit, so the newest are still stored.
  expect(sizes.at(-1)).toBeGreaterThan(LIMIT_BYTES / 2);
  expect(await answerBytes(otherId)).toBeGreaterThanOrEqual(ANSWER_BYTES);
  expect(await evictionsOf('idempotent_answers')).toBeGreaterThan(0);

  await supplier.clearRequests();
  const repeat = await send();
  expect([repeat.status, await repeat.json()]).toMatchObject([
    409,
    { error: { code: 'idempotency_conflict' } },
  ]);
  expect(await supplier.requests()).toEqual([]);
});

test('stored responses of a key stay within its limit', async () => {
  const { keyId } = await addCustomer(app, 'talker', 1_000_000_000n);
  const store = app.application.get(ResponseStore, { strict: false });
  const sizes: number[] = [];
  for (let count = 0; count < ANSWERS; count += 1) {
    await store.write([
      { keyId, responseId: `resp_${count}`, answer: Buffer.alloc(ANSWER_BYTES), input: null, itemIds: [] },
    ]);
    sizes.push(await responseBytes(keyId));
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMIT_BYTES);
  expect(sizes.at(-1)).toBeGreaterThan(LIMIT_BYTES / 2);
  expect(await store.find(keyId, [`resp_${ANSWERS - 1}`, 'resp_0'], [])).toHaveLength(1);
  expect(await evictionsOf('responses')).toBeGreaterThan(0);
});
