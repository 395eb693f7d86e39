import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../../support/app';
import { addCustomer, type Customer } from '../../../support/customer';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres';
import { startSimulator, type Simulator } from '../../../support/simulator';

const usd = 1_000_000_000n;
const CALLERS = 30;
/** Longer than the one-second wait for money plus a margin for a busy machine; the lock lasts longer still. */
const PATIENCE_MS = 15_000;

/** More callers than connections, and each waits for money whose tables are locked. */
describe('Locked money tables', () => {
  let database: TestDatabase;
  let supplier: Simulator;
  let app: TestApp;
  let fundedCustomer: Customer;
  let newCustomer: Customer;
  const blocker = { client: new Client() };

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: database,
      environment: { DATABASE_POOL_SIZE: '3', SETTLE_ACK: 'journal' },
    });
    fundedCustomer = await addCustomer(app, 'known', 5n * usd);
    newCustomer = await addCustomer(app, 'stranger', 5n * usd);
    blocker.client = new Client({ connectionString: database.ownerUrl });
    await blocker.client.connect();
  });
  afterAll(async () => {
    await blocker.client.end();
    await app.close();
    await supplier.stop();
    await database.drop();
  });

  interface LockedOutcome {
    readonly status: number;
    readonly code: string | undefined;
    readonly retryAfter: string | null;
    readonly tookMs: number;
    readonly id: string | null;
  }

  const sendRequest = async ({ key }: Customer): Promise<LockedOutcome> => {
    const startedAt = performance.now();
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
    });
    const { error } = (await answer.json()) as { error?: { code: string } };
    return {
      status: answer.status,
      code: error?.code,
      retryAfter: answer.headers.get('retry-after'),
      tookMs: performance.now() - startedAt,
      id: answer.headers.get('x-request-id'),
    };
  };
  const startCalls = (customer: Customer): Promise<LockedOutcome>[] =>
    Array.from({ length: CALLERS }, () => sendRequest(customer));
  const runCalls = (customer: Customer): Promise<LockedOutcome[]> => Promise.all(startCalls(customer));
  const statuses = (outcomes: readonly LockedOutcome[]) => [...new Set(outcomes.map(({ status }) => status))];
  const servedOutcomes: LockedOutcome[] = [];

  test('callers with reserved money are served, others get 503 in time, and probes respond', async () => {
    servedOutcomes.push(await sendRequest(fundedCustomer));
    await blocker.client.query('BEGIN; LOCK TABLE spending_window, spending_bucket, escrow_slice');
    const [richCalls, poorCalls] = [startCalls(fundedCustomer), startCalls(newCustomer)];
    const probe = fetch(`${app.url}/health`);
    // A probe does not wait for money, so it responds before the first refusal.
    const firstOutcome = await Promise.race([
      probe,
      ...poorCalls.map((call) => call.then(() => 'a refusal')),
    ]);
    expect(firstOutcome).toMatchObject({ status: 200 });
    const [rich, poor] = await Promise.all([Promise.all(richCalls), Promise.all(poorCalls)]);
    servedOutcomes.push(...rich.filter(({ status }) => status === 200));
    expect(servedOutcomes.length).toBeGreaterThan(1);
    expect(statuses(poor)).toEqual([503]);
    for (const { status, code, retryAfter, tookMs } of [...rich, ...poor]) {
      expect(tookMs).toBeLessThan(PATIENCE_MS);
      if (status === 200) continue;
      expect([status, code, retryAfter]).toEqual([
        503,
        'billing_unavailable',
        expect.stringMatching(/^[1-9]/),
      ]);
    }
  });

  test('every caller is served once the lock is released, and earlier requests are charged once', async () => {
    await blocker.client.query('ROLLBACK');
    const deadline = performance.now() + PATIENCE_MS;
    while ((await sendRequest(newCustomer)).status !== 200) expect(performance.now()).toBeLessThan(deadline);
    expect(statuses(await runCalls(newCustomer))).toEqual([200]);
    const ids = servedOutcomes.map(({ id }) => id);
    const count = async (): Promise<number> =>
      (
        await app.database.query('SELECT FROM request_record WHERE request_id = ANY ($1) AND cost_nano > 0', [
          ids,
        ])
      ).length;
    while ((await count()) !== ids.length) expect(performance.now()).toBeLessThan(deadline);
  });
});
