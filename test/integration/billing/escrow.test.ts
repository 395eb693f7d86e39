import { uuidv7 } from '../../../src/kernel';
import { costing, eventually, expectMoneyToAddUp, key, MoneyHouse, wallet } from './money-support';

const usd = 1_000_000_000n;

let house: MoneyHouse;
beforeAll(async () => {
  house = await MoneyHouse.open();
});
afterEach(() => expectMoneyToAddUp(house.database));
afterAll(() => house.close());

const limit = (id: number, amount: bigint) =>
  house.database.transaction((tx) => house.limits.set(tx, { kind: 'key', id }, { period: 'daily', limit: amount }));

test('a request is held, settled at its true cost, and charged everywhere once', async () => {
  await house.credit(1, 5n * usd);
  await limit(1, 2n * usd);
  const node = await house.node();
  const refs = [key(1), { kind: 'project', id: 9 } as const, wallet(1)];
  const hold = await node.escrow.hold({ requestId: uuidv7(), amount: usd, refs });
  await Promise.all([hold.settle(costing(300_000_000n, refs)), hold.settle(costing(300_000_000n, refs))]);
  hold.release();
  await eventually(() => node.pending === 0);
  expect(await house.limits.state({ kind: 'key', id: 1 })).toMatchObject({ spent: 300_000_000n, remaining: 1_700_000_000n });
  expect(await house.ledger.wallet(1)).toMatchObject({ balance: 4_700_000_000n });
  expect(await house.limits.state({ kind: 'project', id: 9 })).toBeNull();
});

test('a thousand at once on one dollar, over two nodes, spend no more than the dollar', async () => {
  await house.credit(2, usd);
  const nodes = [await house.node(), await house.node()];
  const refs = [wallet(2)];
  const codes = new Map<string, number>();
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, call) => {
      try {
        const hold = await nodes[call % 2]!.escrow.hold({ requestId: uuidv7(), amount: usd / 200n, refs });
        await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 50));
        await hold.settle(costing(1_000_000n + BigInt(Math.floor(Math.random() * 4_000_000)), refs));
      } catch (error) {
        const { code } = error as { code: string };
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }),
  );
  await eventually(() => nodes.every((node) => node.pending === 0));
  const { balance } = await house.ledger.wallet(2);
  expect(balance).toBeGreaterThanOrEqual(0n);
  expect(balance).toBeLessThan(usd / 100n);
  console.log(codes, balance);
});
