import { Client } from 'pg';
import { type MoneyEngine, PostgresMoneyStore } from '#product/billing';
import type { MoneyStore } from '../../../src/billing/engine/store/money-store';
import { uuidv7 } from '#product/kernel';
import type { Database } from '../../../src/platform';
import { costing, expectMoneyToAddUp, key, MoneyHouse, wallet } from './money-support';
import { until } from '../../support/until';

let house: MoneyHouse;
let walletId = 100;
beforeAll(async () => (house = await MoneyHouse.open()));
beforeEach(() => house.credit((walletId += 1), 10_000n));
afterEach(() => expectMoneyToAddUp(house.database));
afterAll(() => house.close());

const balance = async () => (await house.ledger.wallet(walletId)).balance;
const countOf = async (requestId: string) =>
  (await house.database.query('SELECT FROM request_record WHERE request_id = $1', [requestId])).length;

/** A disk that can be filled. */
function aDisk() {
  const state = { isFull: false };
  const disk = {
    open: () => 1,
    write: (_file: number, bytes: Buffer) => {
      if (state.isFull) throw new Error('ENOSPC');
      return bytes.length;
    },
    truncate: () => undefined,
    close: () => undefined,
    remove: () => undefined,
  };
  return { state, disk };
}

test('when the disk is full nothing new is held, what runs is settled, and it ends by itself', async () => {
  const { state, disk } = aDisk();
  const node = await house.node({ disk });
  const refs = [wallet(walletId)];
  const place = () => node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  const running = await place();
  state.isFull = true;
  await running.settle(costing(7n, refs));
  expect(await balance()).toBe(9_993n);
  await expect(place()).rejects.toMatchObject({ code: 'billing_unavailable' });
  expect(node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs: [] })).toBeNull();
  state.isFull = false;
  await until(() => node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs: [] }) !== null);
  (await place()).release();
});

/** A request that is not committed in time is told so, and may not be charged when the database takes it at last. */
describe.each(['journal', 'commit'] as const)(
  'acknowledged by the %s, which does not come',
  (acknowledge) => {
    const unrecorded = { code: 'supplier_settlement_failed' };
    /** Requests that run when the disk gets full. */
    async function running(commitWaitMs: number, storeOn?: (own: Database) => MoneyStore) {
      const { state, disk } = aDisk();
      const node = await house.node({ disk, acknowledge, commitWaitMs }, storeOn);
      const refs = [wallet(walletId), key(walletId)];
      const place = () => node.escrow.hold({ requestId: uuidv7(), amount: 1_000n, refs });
      const holds = await Promise.all([place(), place(), place()]);
      state.isFull = true;
      return { node, refs, holds, state };
    }
    const everythingIsFree = async (node: MoneyEngine, left: bigint) => {
      await until(() => node.pending === 0);
      expect(await balance()).toBe(left);
      const refs = [wallet(walletId)];
      await until(() => node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs }) !== null);
      const all = await node.escrow.hold({ requestId: uuidv7(), amount: left, refs });
      all.release();
    };

    test('a transaction that hangs is called off', async () => {
      const { node, refs, holds, state } = await running(1_000);
      const blocker = new Client({ connectionString: house.test.ownerUrl });
      await blocker.connect();
      await blocker.query('BEGIN; LOCK TABLE request_record IN ACCESS EXCLUSIVE MODE');
      const settled = [holds[0].settle(costing(700n, refs)), holds[1].settle(costing(1_200n, refs))];
      await Promise.all(settled.map((each) => expect(each).rejects.toMatchObject(unrecorded)));
      await blocker.query('ROLLBACK');
      await blocker.end();
      state.isFull = false;
      await holds[2].settle(costing(30n, refs));
      await everythingIsFree(node, 9_970n);
      expect(await Promise.all(holds.map(({ requestId }) => countOf(requestId)))).toEqual([0, 0, 1]);
    });

    test('a database that was away when they waited charges those that still wait, and no others', async () => {
      const back = Promise.withResolvers<void>();
      let isAway = true;
      const { node, refs, holds, state } = await running(2_000, (own) => {
        const real = new PostgresMoneyStore(own);
        const settle = real.settle.bind(real);
        real.settle = async (batch) => {
          if (!isAway) return settle(batch);
          await back.promise;
          throw new Error('the connection was lost');
        };
        return real;
      });
      await expect(holds[0].settle(costing(700n, refs))).rejects.toMatchObject(unrecorded);
      const second = holds[1].settle(costing(50n, refs));
      isAway = false;
      back.resolve();
      await second;
      state.isFull = false;
      holds[2].release();
      await everythingIsFree(node, 9_950n);
    });

    test('a commit whose answer was lost stays, and is charged once', async () => {
      const lost = { isLost: true, committed: false };
      const { node, refs, holds, state } = await running(2_000, (own) => {
        const real = new PostgresMoneyStore(own);
        const settle = real.settle.bind(real);
        real.settle = async (batch) => {
          if (lost.committed && lost.isLost) throw new Error('connection refused');
          const settled = await settle(batch);
          lost.committed = true;
          if (lost.isLost) throw new Error('the connection was lost');
          return settled;
        };
        return real;
      });
      await expect(holds[0].settle(costing(700n, refs))).rejects.toMatchObject(unrecorded);
      expect(await balance()).toBe(9_300n);
      lost.isLost = false;
      state.isFull = false;
      holds[1].release();
      holds[2].release();
      await everythingIsFree(node, 9_300n);
      expect(await countOf(holds[0].requestId)).toBe(1);
    });
  },
);
