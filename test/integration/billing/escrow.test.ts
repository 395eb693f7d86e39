import type { Hold } from '../../../src/billing';
import { Fault, uuidv7 } from '#product/kernel';
import { outcomeOf, expectMoneyToAddUp, key, MoneyFixture, wallet } from './money-fixture';
import { until } from '../../support/until';

const ONE_USD = 1_000_000_000n;

let fixture: MoneyFixture;
let id = 0;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
});
beforeEach(() => {
  id += 1;
});
afterEach(() => expectMoneyToAddUp(fixture.database));
afterAll(() => fixture.close());

const limit = (amount: bigint, period: 'daily' | 'monthly' | 'rolling' = 'daily', keyId = id) =>
  fixture.database.transaction((tx) =>
    fixture.limits.set(tx, { kind: 'key', id: keyId }, { period, limit: amount }),
  );
const request = (amount: bigint, refs = [key(id), wallet(id)]) => ({ requestId: uuidv7(), amount, refs });

test('a request is held, settled at its true cost, and charged to every scope once', async () => {
  await fixture.credit(id, 5n * ONE_USD);
  await limit(2n * ONE_USD);
  const node = await fixture.node();
  const refs = [key(id), { kind: 'project', id: 9 } as const, wallet(id)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: ONE_USD, refs });
  await Promise.all([hold.settle(outcomeOf(300_000_000n, refs)), hold.settle(outcomeOf(300_000_000n, refs))]);
  hold.release();
  await until(() => node.pending === 0);
  expect(await fixture.limits.state({ kind: 'key', id })).toMatchObject({
    spent: 300_000_000n,
    remaining: 1_700_000_000n,
  });
  expect(await fixture.ledger.wallet(id)).toMatchObject({ balance: 4_700_000_000n });
  expect(await fixture.limits.state({ kind: 'project', id: 9 })).toBeNull();
});

test('a thousand concurrent requests on two nodes spend no more than the one dollar in the wallet', async () => {
  await fixture.credit(id, ONE_USD);
  const nodes = [await fixture.node(), await fixture.node()];
  const refs = [wallet(id)];
  const codes = new Set<string>();
  /** Retries a hold that is refused because other requests hold the money, as callers do. */
  const holdWithRetry = async (call: number): Promise<Hold> => {
    for (;;) {
      try {
        return await nodes[call % 2]!.escrow.hold(request(ONE_USD / 200n, refs));
      } catch (error) {
        if ((error as { code: string }).code !== 'capacity_exceeded') throw error;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, call) => {
      try {
        const hold = await holdWithRetry(call);
        await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
        await hold.settle(outcomeOf(1_000_000n + BigInt(Math.floor(Math.random() * 4_000_000)), refs));
      } catch (error) {
        codes.add((error as { code: string }).code);
      }
    }),
  );
  await until(() => nodes.every((node) => node.pending === 0));
  const { balance } = await fixture.ledger.wallet(id);
  expect(balance).toBeGreaterThanOrEqual(0n);
  expect(balance).toBeLessThan(ONE_USD / 50n);
  expect([...codes]).toEqual(['billing_limit_reached']);
});

test('a hold is refused for a wallet that was never filled', async () => {
  const node = await fixture.node();
  await expect(node.escrow.hold(request(1n))).rejects.toMatchObject({
    code: 'billing_limit_reached',
    options: { details: { needed_usd: '0.000000001', remaining_usd: '0', scope: 'wallet' } },
  });
});

test('a used-up budget reports the needed and remaining amounts and its reset time', async () => {
  await fixture.credit(id, ONE_USD);
  await limit(1_000n);
  const node = await fixture.node();
  const refusal = node.escrow.hold(request(2_000n));
  await expect(refusal).rejects.toMatchObject({
    code: 'budget_exceeded',
    options: { details: { needed_usd: '0.000002', remaining_usd: '0.000001', scope: 'key' } },
  });
  const { options } = (await refusal.catch((error: unknown) => error)) as { options: { resetsAt: Date } };
  expect(options.resetsAt.getTime() % 86_400_000).toBe(0);
  expect(await node.escrow.headroom([key(id), wallet(id)])).toBe(1_000n);
});

test('a hold waits for money held by others, then succeeds or returns 429', async () => {
  await fixture.credit(id, 1_000n);
  const node = await fixture.node({ escrow: { waitMs: 200 } });
  const firstHold = await node.escrow.hold(request(800n));
  await expect(node.escrow.hold(request(500n))).rejects.toMatchObject({
    code: 'capacity_exceeded',
    options: { retryAfterSeconds: 1 },
  });
  const secondHold = node.escrow.hold(request(500n));
  firstHold.release();
  (await secondHold).release();
});

test('waiting holds are served in order, even when a later one is smaller', async () => {
  await fixture.credit(id, 1_000n);
  const node = await fixture.node();
  const openHold = await node.escrow.hold(request(1_000n));
  const order: string[] = [];
  const largeHold = node.escrow.hold(request(900n)).then((hold) => (order.push('large'), hold));
  const smallHold = node.escrow.hold(request(200n)).then((hold) => (order.push('small'), hold));
  openHold.release();
  (await largeHold).release();
  (await smallHold).release();
  expect(order).toEqual(['large', 'small']);
});

test('money idle at one node is immediately available to another', async () => {
  await fixture.credit(id, 1_000n);
  const [one, other] = [await fixture.node(), await fixture.node()];
  (await one.escrow.hold(request(100n))).release();
  expect((await fixture.ledger.wallet(id)).escrowed).toBeGreaterThanOrEqual(100n);
  const hold = await other.escrow.hold(request(1_000n));
  hold.release();
});

test('a hold takes from all scopes or none', async () => {
  await fixture.credit(id, 100n);
  await limit(10_000n);
  const node = await fixture.node();
  await expect(node.escrow.hold(request(5_000n))).rejects.toMatchObject({ code: 'billing_limit_reached' });
  const hold = await node.escrow.hold(request(10_000n, [key(id)]));
  hold.release();
});

/** Returns the code of a refused hold; null if the hold succeeded, which is then released. */
const refusalCode = (asked: Promise<Hold>): Promise<string | null> =>
  asked.then(
    (hold) => {
      hold.release();
      return null;
    },
    (error: unknown) => (error instanceof Fault ? error.code : String(error)),
  );

test('a limit lowered below the spending lets running requests finish and refuses the next', async () => {
  await fixture.credit(id, ONE_USD);
  await limit(10_000n);
  const node = await fixture.node();
  const openHold = await node.escrow.hold(request(4_000n));
  await limit(1_000n);
  await openHold.settle(outcomeOf(3_000n, [key(id), wallet(id)]));
  // Refused from the moment the node has received the change.
  await until(async () => (await refusalCode(node.escrow.hold(request(10n)))) === 'budget_exceeded');
  await expect(node.escrow.hold(request(10n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  await until(() => node.pending === 0);
  expect(await fixture.limits.state({ kind: 'key', id })).toMatchObject({
    spent: 3_000n,
    limit: 1_000n,
    remaining: 0n,
  });
  await limit(8_000n);
  (await node.escrow.hold(request(5_000n))).release();
});

test('a limit set later counts earlier spending and binds every node immediately', async () => {
  await fixture.credit(id, ONE_USD);
  const node = await fixture.node();
  const refs = [key(id), wallet(id)];
  await (await node.escrow.hold(request(700n))).settle(outcomeOf(700n, refs));
  await until(() => node.pending === 0);
  await limit(1_000n, 'monthly');
  await until(() => node.escrow.tryHold(request(10n)) === null);
  await expect(node.escrow.hold(request(400n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  await limit(1_000n, 'rolling');
  await expect(node.escrow.hold(request(400n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  expect(await fixture.limits.state({ kind: 'key', id })).toMatchObject({ period: 'rolling', spent: 700n });
  await fixture.database.transaction((tx) => fixture.limits.remove(tx, { kind: 'key', id }));
  await until(() => node.escrow.tryHold(request(10n)) === null);
  (await node.escrow.hold(request(400n))).release();
});

test('a credit limit can be spent like money, and a top-up is available immediately', async () => {
  await fixture.database.transaction((tx) => fixture.limits.setCreditLimit(tx, id, 500n));
  const node = await fixture.node();
  const refs = [wallet(id)];
  await (await node.escrow.hold(request(500n, refs))).settle(outcomeOf(500n, refs));
  await expect(node.escrow.hold(request(1n, refs))).rejects.toMatchObject({ code: 'billing_limit_reached' });
  await fixture.credit(id, 600n);
  (await node.escrow.hold(request(600n, refs))).release();
  await until(() => node.pending === 0);
  expect(await fixture.ledger.wallet(id)).toMatchObject({ balance: 100n, creditLimit: 500n });
});

test('a free request gets a hold and a record', async () => {
  const node = await fixture.node();
  const hold = await node.escrow.hold(request(0n, []));
  await hold.settle(outcomeOf(0n, []));
  await until(() => node.pending === 0);
  expect(
    await fixture.database.query('SELECT FROM request_record WHERE request_id = $1', [hold.requestId]),
  ).toHaveLength(1);
});
