import type { Hold } from '../../../src/billing';
import { Fault, uuidv7 } from '#product/kernel';
import { costing, expectMoneyToAddUp, key, MoneyHouse, wallet } from './money-support';
import { until } from '../../support/until';

const usd = 1_000_000_000n;

let house: MoneyHouse;
let id = 0;
beforeAll(async () => {
  house = await MoneyHouse.open();
});
beforeEach(() => {
  id += 1;
});
afterEach(() => expectMoneyToAddUp(house.database));
afterAll(() => house.close());

const limit = (amount: bigint, period: 'daily' | 'monthly' | 'rolling' = 'daily', keyId = id) =>
  house.database.transaction((tx) =>
    house.limits.set(tx, { kind: 'key', id: keyId }, { period, limit: amount }),
  );
const request = (amount: bigint, refs = [key(id), wallet(id)]) => ({ requestId: uuidv7(), amount, refs });

test('a request is held, settled at its true cost, and charged everywhere once', async () => {
  await house.credit(id, 5n * usd);
  await limit(2n * usd);
  const node = await house.node();
  const refs = [key(id), { kind: 'project', id: 9 } as const, wallet(id)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: usd, refs });
  await Promise.all([hold.settle(costing(300_000_000n, refs)), hold.settle(costing(300_000_000n, refs))]);
  hold.release();
  await until(() => node.pending === 0);
  expect(await house.limits.state({ kind: 'key', id })).toMatchObject({
    spent: 300_000_000n,
    remaining: 1_700_000_000n,
  });
  expect(await house.ledger.wallet(id)).toMatchObject({ balance: 4_700_000_000n });
  expect(await house.limits.state({ kind: 'project', id: 9 })).toBeNull();
});

test('a thousand at once on one dollar, over two nodes, spend no more than the dollar', async () => {
  await house.credit(id, usd);
  const nodes = [await house.node(), await house.node()];
  const refs = [wallet(id)];
  const codes = new Set<string>();
  /** Money that others hold may come back: what is refused for that is asked again, as callers do. */
  const held = async (call: number): Promise<Hold> => {
    for (;;) {
      try {
        return await nodes[call % 2]!.escrow.hold(request(usd / 200n, refs));
      } catch (error) {
        if ((error as { code: string }).code !== 'capacity_exceeded') throw error;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, call) => {
      try {
        const hold = await held(call);
        await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
        await hold.settle(costing(1_000_000n + BigInt(Math.floor(Math.random() * 4_000_000)), refs));
      } catch (error) {
        codes.add((error as { code: string }).code);
      }
    }),
  );
  await until(() => nodes.every((node) => node.pending === 0));
  const { balance } = await house.ledger.wallet(id);
  expect(balance).toBeGreaterThanOrEqual(0n);
  expect(balance).toBeLessThan(usd / 50n);
  expect([...codes]).toEqual(['billing_limit_reached']);
});

test('without a wallet that was ever filled, nobody pays', async () => {
  const node = await house.node();
  await expect(node.escrow.hold(request(1n))).rejects.toMatchObject({
    code: 'billing_limit_reached',
    options: { details: { needed_usd: '0.000000001', remaining_usd: '0', scope: 'wallet' } },
  });
});

test('a spent budget says what is needed, what is left and when it begins anew', async () => {
  await house.credit(id, usd);
  await limit(1_000n);
  const node = await house.node();
  const refusal = node.escrow.hold(request(2_000n));
  await expect(refusal).rejects.toMatchObject({
    code: 'budget_exceeded',
    options: { details: { needed_usd: '0.000002', remaining_usd: '0.000001', scope: 'key' } },
  });
  const { options } = (await refusal.catch((error: unknown) => error)) as { options: { resetsAt: Date } };
  expect(options.resetsAt.getTime() % 86_400_000).toBe(0);
  expect(await node.escrow.headroom([key(id), wallet(id)])).toBe(1_000n);
});

test('money that others hold is waited for: then it is had, or 429', async () => {
  await house.credit(id, 1_000n);
  const node = await house.node({ escrow: { waitMs: 200 } });
  const first = await node.escrow.hold(request(800n));
  await expect(node.escrow.hold(request(500n))).rejects.toMatchObject({
    code: 'capacity_exceeded',
    options: { retryAfterSeconds: 1 },
  });
  const second = node.escrow.hold(request(500n));
  first.release();
  (await second).release();
});

test('nobody overtakes: the large request that came first is served first', async () => {
  await house.credit(id, 1_000n);
  const node = await house.node();
  const running = await node.escrow.hold(request(1_000n));
  const order: string[] = [];
  const large = node.escrow.hold(request(900n)).then((hold) => (order.push('large'), hold));
  const small = node.escrow.hold(request(200n)).then((hold) => (order.push('small'), hold));
  running.release();
  (await large).release();
  (await small).release();
  expect(order).toEqual(['large', 'small']);
});

test('what lies idle at one node is had by the other at once', async () => {
  await house.credit(id, 1_000n);
  const [one, other] = [await house.node(), await house.node()];
  (await one.escrow.hold(request(100n))).release();
  expect((await house.ledger.wallet(id)).escrowed).toBeGreaterThanOrEqual(100n);
  const hold = await other.escrow.hold(request(1_000n));
  hold.release();
});

test('all scopes or none: a refusal in one leaves the others as they were', async () => {
  await house.credit(id, 100n);
  await limit(10_000n);
  const node = await house.node();
  await expect(node.escrow.hold(request(5_000n))).rejects.toMatchObject({ code: 'billing_limit_reached' });
  const hold = await node.escrow.hold(request(10_000n, [key(id)]));
  hold.release();
});

/** The code a hold is refused with; null, with the money given back, when it is not. */
const refusalOf = (asked: Promise<Hold>): Promise<string | null> =>
  asked.then(
    (hold) => {
      hold.release();
      return null;
    },
    (error: unknown) => (error instanceof Fault ? error.code : String(error)),
  );

test('a limit lowered below what is spent: what runs ends, the next is refused, zero remains', async () => {
  await house.credit(id, usd);
  await limit(10_000n);
  const node = await house.node();
  const running = await node.escrow.hold(request(4_000n));
  await limit(1_000n);
  await running.settle(costing(3_000n, [key(id), wallet(id)]));
  // Refused as soon as the node has heard of the change, and from then on.
  await until(async () => (await refusalOf(node.escrow.hold(request(10n)))) === 'budget_exceeded');
  await expect(node.escrow.hold(request(10n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  await until(() => node.pending === 0);
  expect(await house.limits.state({ kind: 'key', id })).toMatchObject({
    spent: 3_000n,
    limit: 1_000n,
    remaining: 0n,
  });
  await limit(8_000n);
  (await node.escrow.hold(request(5_000n))).release();
});

test('a limit that is set later counts what was spent before, and binds every node at once', async () => {
  await house.credit(id, usd);
  const node = await house.node();
  const refs = [key(id), wallet(id)];
  await (await node.escrow.hold(request(700n))).settle(costing(700n, refs));
  await until(() => node.pending === 0);
  await limit(1_000n, 'monthly');
  await until(() => node.escrow.tryHold(request(10n)) === null);
  await expect(node.escrow.hold(request(400n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  await limit(1_000n, 'rolling');
  await expect(node.escrow.hold(request(400n))).rejects.toMatchObject({ code: 'budget_exceeded' });
  expect(await house.limits.state({ kind: 'key', id })).toMatchObject({ period: 'rolling', spent: 700n });
  await house.database.transaction((tx) => house.limits.remove(tx, { kind: 'key', id }));
  await until(() => node.escrow.tryHold(request(10n)) === null);
  (await node.escrow.hold(request(400n))).release();
});

test('a credit limit is money too, and a top-up is there at once', async () => {
  await house.database.transaction((tx) => house.limits.setCreditLimit(tx, id, 500n));
  const node = await house.node();
  const refs = [wallet(id)];
  await (await node.escrow.hold(request(500n, refs))).settle(costing(500n, refs));
  await expect(node.escrow.hold(request(1n, refs))).rejects.toMatchObject({ code: 'billing_limit_reached' });
  await house.credit(id, 600n);
  (await node.escrow.hold(request(600n, refs))).release();
  await until(() => node.pending === 0);
  expect(await house.ledger.wallet(id)).toMatchObject({ balance: 100n, creditLimit: 500n });
});

test('a free request gets a hold as well, and is recorded', async () => {
  const node = await house.node();
  const hold = await node.escrow.hold(request(0n, []));
  await hold.settle(costing(0n, []));
  await until(() => node.pending === 0);
  expect(
    await house.database.query('SELECT FROM request_record WHERE request_id = $1', [hold.requestId]),
  ).toHaveLength(1);
});
