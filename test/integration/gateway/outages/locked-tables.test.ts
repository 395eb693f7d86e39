import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../../support/app';
import { addCustomer, type Customer } from '../../../support/customer';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres';
import { startSimulator, type Simulator } from '../../../support/simulator';

const usd = 1_000_000_000n;
const CALLERS = 30;
/** A call waits a second for money, and a busy machine needs some more; the lock outlives both. */
const PATIENCE_MS = 15_000;

/** More callers than connections, and every one of them wants what somebody else does not give back. */
describe('a lock on the money that nobody gives back', () => {
  let database: TestDatabase;
  let supplier: Simulator;
  let app: TestApp;
  let known: Customer;
  let stranger: Customer;
  const blocker = { client: new Client() };

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: database,
      environment: { DATABASE_POOL_SIZE: '3', SETTLE_ACK: 'journal' },
    });
    known = await addCustomer(app, 'known', 5n * usd);
    stranger = await addCustomer(app, 'stranger', 5n * usd);
    blocker.client = new Client({ connectionString: database.ownerUrl });
    await blocker.client.connect();
  });
  afterAll(async () => {
    await blocker.client.end();
    await app.close();
    await supplier.stop();
    await database.drop();
  });

  interface Outcome {
    readonly status: number;
    readonly code: string | undefined;
    readonly retryAfter: string | null;
    readonly tookMs: number;
    readonly id: string | null;
  }

  const ask = async ({ key }: Customer): Promise<Outcome> => {
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
  const callsOf = (customer: Customer): Promise<Outcome>[] =>
    Array.from({ length: CALLERS }, () => ask(customer));
  const all = (customer: Customer): Promise<Outcome[]> => Promise.all(callsOf(customer));
  const statuses = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ status }) => status))];
  const served: Outcome[] = [];

  test('whoever has money at hand is served, the others are told in time, and probes answer', async () => {
    served.push(await ask(known));
    await blocker.client.query('BEGIN; LOCK TABLE spending_window, spending_bucket, escrow_slice');
    const [richCalls, poorCalls] = [callsOf(known), callsOf(stranger)];
    const probe = fetch(`${app.url}/health`);
    // A probe waits for no money: it is answered before the first caller who does is told.
    const first = await Promise.race([probe, ...poorCalls.map((call) => call.then(() => 'a refusal'))]);
    expect(first).toMatchObject({ status: 200 });
    const [rich, poor] = await Promise.all([Promise.all(richCalls), Promise.all(poorCalls)]);
    served.push(...rich.filter(({ status }) => status === 200));
    expect(served.length).toBeGreaterThan(1);
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

  test('once it is given back, everybody is served, and what was served meanwhile is charged once', async () => {
    await blocker.client.query('ROLLBACK');
    const deadline = performance.now() + PATIENCE_MS;
    while ((await ask(stranger)).status !== 200) expect(performance.now()).toBeLessThan(deadline);
    expect(statuses(await all(stranger))).toEqual([200]);
    const ids = served.map(({ id }) => id);
    const count = async (): Promise<number> =>
      (
        await app.database.query('SELECT FROM request_record WHERE request_id = ANY ($1) AND cost_nano > 0', [
          ids,
        ])
      ).length;
    while ((await count()) !== ids.length) expect(performance.now()).toBeLessThan(deadline);
  });
});
