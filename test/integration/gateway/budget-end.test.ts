import { Limits } from '#product/billing';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startSimulator, type Simulator } from '../../support/simulator';

const BUDGET = 50_000_000n;
const CALLERS = 60;
const MAX_TRIES = 40;

let supplier: Simulator;
let database: TestDatabase;
let nodes: TestApp[];

beforeAll(async () => {
  supplier = await startSimulator();
  database = await createTestDatabase();
  const environment = { KEY_PEPPER: 'of both nodes', MASTER_KEY: 'this one too', SESSION_SECRET: 'and this' };
  const options = { sandboxUrl: supplier.url, sharedDatabase: database, environment };
  nodes = [await startTestApp(options), await startTestApp(options)];
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  await database.drop();
  await supplier.stop();
});

interface BudgetRefusal {
  readonly code: string;
  readonly needed: number;
  readonly remaining: number;
}

/** Retries until a refusal is not retryable; null if none was within `MAX_TRIES`. */
async function callUntilSpent(node: TestApp, key: string, body: object): Promise<BudgetRefusal | null> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const answer = await fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: 'x [[tokens=200]]' }],
        ...body,
      }),
    });
    const text = await answer.text();
    if (answer.status === 200) continue;
    const { error } = JSON.parse(text) as {
      error: { code: string; retryable: boolean; details?: Record<string, string> };
    };
    if (error.retryable) continue;
    if (error.details === undefined) throw new Error(`${answer.status} ${text}`);
    const { needed_usd: needed, remaining_usd: remaining } = error.details;
    return { code: error.code, needed: Number(needed), remaining: Number(remaining) };
  }
  return null;
}

test.each([
  ['no limit of their own', {}],
  ['a limit of 400 tokens', { max_tokens: 400 }],
])('concurrent callers with %s on two nodes use a budget to its last hundredth', async (what, body) => {
  const { key, keyId } = await addCustomer(nodes[0]!, `racer-${what.replaceAll(' ', '-')}`, 10n * BUDGET);
  const limits = nodes[0]!.application.get(Limits, { strict: false });
  await nodes[0]!.database.transaction((tx) =>
    limits.set(tx, { kind: 'key', id: keyId }, { period: 'total', limit: BUDGET }),
  );
  const refusals = await Promise.all(
    Array.from({ length: CALLERS }, (_, caller) => callUntilSpent(nodes[caller % 2]!, key, body)),
  );
  const state = await limits.state({ kind: 'key', id: keyId });
  expect(state?.spent ?? 0n).toBeLessThanOrEqual(BUDGET);
  expect(state?.spent ?? 0n).toBeGreaterThanOrEqual((BUDGET * 99n) / 100n);
  for (const refusal of refusals) {
    expect(refusal?.code).toBe('budget_exceeded');
    expect(refusal?.needed).toBeGreaterThan(refusal?.remaining ?? 0);
  }
});
