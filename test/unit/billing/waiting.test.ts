import { setImmediate as turn } from 'node:timers/promises';
import { type LimitRef } from '../../../src/billing';
import { Escrow, type EscrowOptions, escrowDefaults } from '../../../src/billing/engine/escrow/escrow';
import { NodeLease } from '../../../src/billing/engine/escrow/node-lease';
import { SliceRegistry } from '../../../src/billing/engine/escrow/slice-registry';
import type { DrawRequest, DrawResult } from '../../../src/billing/engine/store/money-store';
import { DatabaseClock } from '../../../src/platform';
import { MemoryStore } from './memory-store';

/**
 * A request that waited in vain is told this. The database answers, or stays silent, when the test says so,
 * and time passes only then.
 */
const wallet: LimitRef = { kind: 'wallet', id: 1 };

class ScriptedStore extends MemoryStore {
  draws = 0;
  private held: (() => void)[] = [];
  /** Draws wait for `letGo`. */
  holding = false;

  override async draw(lease: string, operation: number, asks: readonly DrawRequest[]): Promise<DrawResult[]> {
    this.draws += 1;
    if (this.holding) await new Promise<void>((resolve) => this.held.push(resolve));
    return super.draw(lease, operation, asks);
  }

  letGo(): void {
    this.holding = false;
    for (const release of this.held.splice(0)) release();
  }
}

interface House {
  readonly store: ScriptedStore;
  readonly escrow: Escrow;
  /** Time passes, and everything that follows from it happens. */
  readonly pass: (milliseconds: number) => Promise<void>;
}

let houses: House[] = [];

async function house(options: Partial<EscrowOptions> = {}): Promise<House> {
  const store = new ScriptedStore();
  store.limit(wallet, 100n);
  await store.beat('other', 'other', true);
  // Another node holds all of it.
  await store.draw('other', 1, [{ ref: wallet, need: 100n, want: 100n }]);
  store.draws = 0;
  const clock = new DatabaseClock();
  const book = new SliceRegistry();
  const lease = new NodeLease(store, clock, book);
  await store.beat(lease.id, 'own', true);
  lease.markRenewed(Infinity);
  const settlements = { trouble: undefined, takesMore: true, record: () => Promise.resolve() };
  const escrow = new Escrow(clock, book, lease, settlements, { ...escrowDefaults, ...options });
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += 10) {
      jest.advanceTimersByTime(10);
      for (let turns = 0; turns < 8; turns += 1) await turn();
    }
  };
  const made = { store, escrow, pass };
  houses.push(made);
  return made;
}

const ask = (escrow: Escrow, amount = 10n, ref = wallet) =>
  escrow
    .hold({ requestId: crypto.randomUUID(), amount, refs: [ref] })
    .then(() => 'held')
    .catch((error: { code: string }) => error.code);

beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  for (const { escrow, store } of houses) {
    escrow.allocator.stop();
    store.letGo();
  }
  houses = [];
  jest.useRealTimers();
});

test('the database answered to the last: others hold the money', async () => {
  const { escrow, pass } = await house();
  const told = ask(escrow);
  await pass(1_000);
  expect(await told).toBe('capacity_exceeded');
});

test('a draw that is on its way when the wait ends decides, however it ends', async () => {
  const { store, escrow, pass } = await house();
  const told = ask(escrow);
  await pass(500);
  store.holding = true;
  await pass(700);
  expect(escrow.waiting).toBe(1);
  store.letGo();
  await pass(10);
  expect(await told).toBe('capacity_exceeded');

  const lucky = ask(escrow);
  await pass(500);
  store.holding = true;
  await pass(700);
  await store.giveBack('other', 2, [{ windowId: 'wallet:1', amount: 50n }]);
  store.letGo();
  await pass(10);
  expect(await lucky).toBe('held');
});

test('earlier answers do not speak for a database that has fallen silent', async () => {
  const { store, escrow, pass } = await house();
  const told = ask(escrow);
  await pass(500);
  expect(store.draws).toBeGreaterThan(0);
  store.holding = true;
  await pass(1_600);
  expect(await told).toBe('billing_unavailable');
});

test('nor does silence last longer for whom waits behind others', async () => {
  const { store, escrow, pass } = await house();
  store.holding = true;
  const first = ask(escrow);
  await pass(400);
  const second = ask(escrow);
  await pass(1_560);
  expect(await first).toBe('billing_unavailable');
  expect(escrow.waiting).toBe(1);
  await pass(400);
  expect(await second).toBe('billing_unavailable');
});

test('after a draw that failed nobody is told that the money is in use', async () => {
  const { store, escrow, pass } = await house();
  store.trouble = 'before';
  const told = ask(escrow);
  await pass(20);
  expect(await told).toBe('billing_unavailable');
});

test('however many ask what is left, they ride few draws, and nobody starves behind them', async () => {
  const { store, escrow, pass } = await house();
  store.holding = true;
  const first = escrow.headroom([wallet]);
  const asked = Array.from({ length: 500 }, () => escrow.headroom([wallet]));
  const told = ask(escrow);
  await pass(10);
  store.letGo();
  await pass(10);
  expect(new Set(await Promise.all([first, ...asked]))).toEqual(new Set([0n]));
  expect(store.draws).toBeLessThan(5);
  await pass(1_000);
  expect(await told).toBe('capacity_exceeded');
});

test('a limit that changes while it is asked for does not hide behind the next one that is short', async () => {
  const key: LimitRef = { kind: 'key', id: 7 };
  const { store, escrow, pass } = await house();
  store.limit(wallet, 100n);
  await store.giveBack('other', 2, [{ windowId: 'wallet:1', amount: 100n }]);
  store.limit(key, 50n);
  store.holding = true;
  const told = escrow.hold({ requestId: crypto.randomUUID(), amount: 800n, refs: [key, wallet] });
  told.catch(() => undefined);
  await pass(10);
  escrow.allocator.handleLimitChange(key);
  store.letGo();
  await expect(told).rejects.toMatchObject({ code: 'budget_exceeded' });
});

test('a request that came during a slow draw for others is asked for before it is told anything', async () => {
  const { store, escrow, pass } = await house();
  const other: LimitRef = { kind: 'wallet', id: 2 };
  store.limit(other, 100n);
  store.holding = true;
  const told = ask(escrow);
  await pass(10);
  const later = ask(escrow, 10n, other);
  await pass(960);
  store.letGo();
  expect(await later).toBe('held');
  expect(await told).toBe('capacity_exceeded');
});
