import { Client } from 'pg';
import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { signIn } from '../../support/users';
import { type Simulator, startSimulator } from '../../support/simulator';

let supplier: Simulator;
let app: TestApp;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url, environment: { SETTLE_ACK: 'journal' } });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

/** Charges are on their way to the database, but cannot be committed until the lock is released. */
test('key page and budget refusal agree on the used amount after a burst', async () => {
  const limit = 0.6;
  const { key, keyId, userId } = await addCustomer(app, 'bursting', 10_000_000_000n);
  const cookie = await signIn(app, userId);
  await app.database.transaction((tx) =>
    app.application
      .get(Limits, { strict: false })
      .set(tx, { kind: 'key', id: keyId }, { period: 'daily', limit: BigInt(limit * 1e9) }),
  );
  const call = (): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        max_tokens: 4_000,
        messages: [{ role: 'user', content: 'x [[tokens=4000]]' }],
      }),
    });
  const readUsed = async (): Promise<number> => {
    const answer = await fetch(`${app.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { budget_used: number }).budget_used;
  };
  const readPage = async (): Promise<string> =>
    (await fetch(`${app.url}/dashboard/keys/${keyId}`, { headers: { cookie, accept: 'text/html' } })).text();

  const costs: number[] = [];
  const costOf = ({ headers }: Response): number => Number(headers.get('x-svc-cost-usd'));
  costs.push(costOf(await call()));
  expect(await readUsed()).toBeCloseTo(costs[0]!, 9);
  const owner = new Client(app.environment['MIGRATION_DATABASE_URL']);
  await owner.connect();
  await owner.query('BEGIN; LOCK TABLE request_record IN SHARE MODE');
  const blockedResponse = await call();
  expect(blockedResponse.status).toBe(200);
  costs.push(costOf(blockedResponse));
  const pendingReadings = Promise.all([readUsed(), readPage()]);
  // Readings that do not wait for the charge have returned by the end of these.
  for (let probe = 0; probe < 20; probe += 1) await fetch(`${app.url}/health`);
  await owner.query('ROLLBACK');
  await owner.end();
  const [reportedUsage, pageText] = await pendingReadings;
  const sum = costs.reduce((one, other) => one + other);
  expect(reportedUsage).toBeCloseTo(sum, 9);
  expect(pageText).toContain(`$${(Math.ceil(sum * 100) / 100).toFixed(2)} of $0.60`);

  let answer = await call();
  while (answer.status === 200) answer = await call();
  const { error } = (await answer.json()) as { error: { details: { remaining_usd: string } } };
  expect((await readUsed()) + Number(error.details.remaining_usd)).toBeCloseTo(limit, 9);
});
