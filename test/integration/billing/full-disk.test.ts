import { Client } from 'pg';
import { type MoneyEngine, PostgresMoneyStore } from '#product/billing';
import type { MoneyStore } from '../../../src/billing/engine/store/money-store';
import { uuidv7 } from '#product/kernel';
import type { Database } from '../../../src/platform';
import { outcomeOf, expectMoneyToAddUp, key, MoneyFixture, wallet } from './money-fixture';
import { until } from '../../support/until';

let fixture: MoneyFixture;
let walletId = 100;
beforeAll(async () => (fixture = await MoneyFixture.open()));
beforeEach(() => fixture.credit((walletId += 1), 10_000n));
afterEach(() => expectMoneyToAddUp(fixture.database));
afterAll(() => fixture.close());

const balance = async () => (await fixture.ledger.wallet(walletId)).balance;
const countOf = async (requestId: string) =>
  (await fixture.database.query('SELECT FROM request_record WHERE request_id = $1', [requestId])).length;

/** A disk that can be filled. */
function createDisk() {
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

test('a full disk refuses new holds, settles running requests, and recovers automatically', async () => {
  const { state, disk } = createDisk();
  const node = await fixture.node({ disk });
  const refs = [wallet(walletId)];
  const takeHold = () => node.escrow.hold({ requestId: uuidv7(), amount: 10n, refs });
  const openHold = await takeHold();
  state.isFull = true;
  await openHold.settle(outcomeOf(7n, refs));
  expect(await balance()).toBe(9_993n);
  await expect(takeHold()).rejects.toMatchObject({ code: 'billing_unavailable' });
  expect(node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs: [] })).toBeNull();
  state.isFull = false;
  await until(() => node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs: [] }) !== null);
  (await takeHold()).release();
});

/** A request whose settlement times out gets an error and must not be charged if the database commits later. */
describe.each(['journal', 'commit'] as const)(
  'An unrecorded settlement with SETTLE_ACK=%s',
  (acknowledge) => {
    const unrecordedError = { code: 'supplier_settlement_failed' };
    /** Opens three holds before the disk becomes full. */
    async function openHolds(commitWaitMs: number, storeOn?: (own: Database) => MoneyStore) {
      const { state, disk } = createDisk();
      const node = await fixture.node({ disk, acknowledge, commitWaitMs }, storeOn);
      const refs = [wallet(walletId), key(walletId)];
      const takeHold = () => node.escrow.hold({ requestId: uuidv7(), amount: 1_000n, refs });
      const holds = await Promise.all([takeHold(), takeHold(), takeHold()]);
      state.isFull = true;
      return { node, refs, holds, state };
    }
    const expectNothingHeld = async (node: MoneyEngine, left: bigint) => {
      await until(() => node.pending === 0);
      expect(await balance()).toBe(left);
      const refs = [wallet(walletId)];
      await until(() => node.escrow.tryHold({ requestId: uuidv7(), amount: 0n, refs }) !== null);
      const fullHold = await node.escrow.hold({ requestId: uuidv7(), amount: left, refs });
      fullHold.release();
    };

    test('is cancelled when its transaction hangs', async () => {
      const { node, refs, holds, state } = await openHolds(1_000);
      const blocker = new Client({ connectionString: fixture.test.ownerUrl });
      await blocker.connect();
      await blocker.query('BEGIN; LOCK TABLE request_record IN ACCESS EXCLUSIVE MODE');
      const settlements = [holds[0].settle(outcomeOf(700n, refs)), holds[1].settle(outcomeOf(1_200n, refs))];
      await Promise.all(settlements.map((each) => expect(each).rejects.toMatchObject(unrecordedError)));
      await blocker.query('ROLLBACK');
      await blocker.end();
      state.isFull = false;
      await holds[2].settle(outcomeOf(30n, refs));
      await expectNothingHeld(node, 9_970n);
      expect(await Promise.all(holds.map(({ requestId }) => countOf(requestId)))).toEqual([0, 0, 1]);
    });

    test('charges only requests that are still waiting when the database returns', async () => {
      const reconnected = Promise.withResolvers<void>();
      let isAway = true;
      const { node, refs, holds, state } = await openHolds(2_000, (own) => {
        const realStore = new PostgresMoneyStore(own);
        const settle = realStore.settle.bind(realStore);
        realStore.settle = async (batch) => {
          if (!isAway) return settle(batch);
          await reconnected.promise;
          throw new Error('the connection was lost');
        };
        return realStore;
      });
      await expect(holds[0].settle(outcomeOf(700n, refs))).rejects.toMatchObject(unrecordedError);
      const secondSettlement = holds[1].settle(outcomeOf(50n, refs));
      isAway = false;
      reconnected.resolve();
      await secondSettlement;
      state.isFull = false;
      holds[2].release();
      await expectNothingHeld(node, 9_950n);
    });

    test('is charged once when the commit succeeded and its response was lost', async () => {
      const commitState = { isLost: true, committed: false };
      const { node, refs, holds, state } = await openHolds(2_000, (own) => {
        const realStore = new PostgresMoneyStore(own);
        const settle = realStore.settle.bind(realStore);
        realStore.settle = async (batch) => {
          if (commitState.committed && commitState.isLost) throw new Error('connection refused');
          const result = await settle(batch);
          commitState.committed = true;
          if (commitState.isLost) throw new Error('the connection was lost');
          return result;
        };
        return realStore;
      });
      await expect(holds[0].settle(outcomeOf(700n, refs))).rejects.toMatchObject(unrecordedError);
      expect(await balance()).toBe(9_300n);
      commitState.isLost = false;
      state.isFull = false;
      holds[1].release();
      holds[2].release();
      await expectNothingHeld(node, 9_300n);
      expect(await countOf(holds[0].requestId)).toBe(1);
    });
  },
);
