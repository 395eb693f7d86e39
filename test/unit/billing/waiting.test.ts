import { setImmediate as turn } from 'node:timers/promises';
import { type LimitRef } from '../../../src/billing';
import { Escrow, type EscrowOptions, escrowDefaults } from '../../../src/billing/engine/escrow/escrow';
import { NodeLease } from '../../../src/billing/engine/escrow/node-lease';
import { SliceRegistry } from '../../../src/billing/engine/escrow/slice-registry';
import type { DrawRequest, DrawResult } from '../../../src/billing/engine/store/money-store';
import { DatabaseClock } from '../../../src/platform';
import { MemoryStore } from './memory-store';

/**
 * Covers the error of a request whose wait was in vain. The test controls when the database responds and when time
 * passes.
 */
const wallet: LimitRef = { kind: 'wallet', id: 1 };

class ScriptedStore extends MemoryStore {
  draws = 0;
  private heldDraws: (() => void)[] = [];
  /** While true, draws wait for `releaseDraws`. */
  isHolding = false;

  override async draw(lease: string, operation: number, asks: readonly DrawRequest[]): Promise<DrawResult[]> {
    this.draws += 1;
    if (this.isHolding) await new Promise<void>((resolve) => this.heldDraws.push(resolve));
    return super.draw(lease, operation, asks);
  }

  releaseDraws(): void {
    this.isHolding = false;
    for (const release of this.heldDraws.splice(0)) release();
  }
}

interface WaitingFixture {
  readonly store: ScriptedStore;
  readonly escrow: Escrow;
  /** Advances the timers and runs everything that follows. */
  readonly pass: (milliseconds: number) => Promise<void>;
}

let fixtures: WaitingFixture[] = [];

async function fixture(options: Partial<EscrowOptions> = {}): Promise<WaitingFixture> {
  const store = new ScriptedStore();
  store.limit(wallet, 100n);
  await store.beat('other', 'other', true);
  // Another node holds the entire balance.
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
    for (let elapsedMs = 0; elapsedMs < milliseconds; elapsedMs += 10) {
      jest.advanceTimersByTime(10);
      for (let turnCount = 0; turnCount < 8; turnCount += 1) await turn();
    }
  };
  const created = { store, escrow, pass };
  fixtures.push(created);
  return created;
}

const requestHold = (escrow: Escrow, amount = 10n, ref = wallet) =>
  escrow
    .hold({ requestId: crypto.randomUUID(), amount, refs: [ref] })
    .then(() => 'held')
    .catch((error: { code: string }) => error.code);

beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  for (const { escrow, store } of fixtures) {
    escrow.allocator.stop();
    store.releaseDraws();
  }
  fixtures = [];
  jest.useRealTimers();
});

test('returns capacity_exceeded when the database responds throughout and others hold the money', async () => {
  const { escrow, pass } = await fixture();
  const outcome = requestHold(escrow);
  await pass(1_000);
  expect(await outcome).toBe('capacity_exceeded');
});

test('draw in flight when the wait ends decides the outcome', async () => {
  const { store, escrow, pass } = await fixture();
  const outcome = requestHold(escrow);
  await pass(500);
  store.isHolding = true;
  await pass(700);
  expect(escrow.waiting).toBe(1);
  store.releaseDraws();
  await pass(10);
  expect(await outcome).toBe('capacity_exceeded');

  const secondOutcome = requestHold(escrow);
  await pass(500);
  store.isHolding = true;
  await pass(700);
  await store.giveBack('other', 2, [{ windowId: 'wallet:1', amount: 50n }]);
  store.releaseDraws();
  await pass(10);
  expect(await secondOutcome).toBe('held');
});

test('returns billing_unavailable when the database falls silent after earlier responses', async () => {
  const { store, escrow, pass } = await fixture();
  const outcome = requestHold(escrow);
  await pass(500);
  expect(store.draws).toBeGreaterThan(0);
  store.isHolding = true;
  await pass(1_600);
  expect(await outcome).toBe('billing_unavailable');
});

test('requests waiting behind others time out no later when the database is silent', async () => {
  const { store, escrow, pass } = await fixture();
  store.isHolding = true;
  const firstOutcome = requestHold(escrow);
  await pass(400);
  const secondOutcome = requestHold(escrow);
  await pass(1_560);
  expect(await firstOutcome).toBe('billing_unavailable');
  expect(escrow.waiting).toBe(1);
  await pass(400);
  expect(await secondOutcome).toBe('billing_unavailable');
});

test('returns billing_unavailable after a failed draw', async () => {
  const { store, escrow, pass } = await fixture();
  store.failureMode = 'before';
  const outcome = requestHold(escrow);
  await pass(20);
  expect(await outcome).toBe('billing_unavailable');
});

test('many headroom checks share a few draws and starve no request', async () => {
  const { store, escrow, pass } = await fixture();
  store.isHolding = true;
  const firstCheck = escrow.headroom([wallet]);
  const checks = Array.from({ length: 500 }, () => escrow.headroom([wallet]));
  const outcome = requestHold(escrow);
  await pass(10);
  store.releaseDraws();
  await pass(10);
  expect(new Set(await Promise.all([firstCheck, ...checks]))).toEqual(new Set([0n]));
  expect(store.draws).toBeLessThan(5);
  await pass(1_000);
  expect(await outcome).toBe('capacity_exceeded');
});

test('limit that changes during its draw is still enforced when the next limit is short', async () => {
  const key: LimitRef = { kind: 'key', id: 7 };
  const { store, escrow, pass } = await fixture();
  store.limit(wallet, 100n);
  await store.giveBack('other', 2, [{ windowId: 'wallet:1', amount: 100n }]);
  store.limit(key, 50n);
  store.isHolding = true;
  const outcome = escrow.hold({ requestId: crypto.randomUUID(), amount: 800n, refs: [key, wallet] });
  outcome.catch(() => undefined);
  await pass(10);
  escrow.allocator.handleLimitChange(key);
  store.releaseDraws();
  await expect(outcome).rejects.toMatchObject({ code: 'budget_exceeded' });
});

test('request that arrives during a slow draw for others gets its own draw', async () => {
  const { store, escrow, pass } = await fixture();
  const otherWallet: LimitRef = { kind: 'wallet', id: 2 };
  store.limit(otherWallet, 100n);
  store.isHolding = true;
  const outcome = requestHold(escrow);
  await pass(10);
  const laterOutcome = requestHold(escrow, 10n, otherWallet);
  await pass(960);
  store.releaseDraws();
  expect(await laterOutcome).toBe('held');
  expect(await outcome).toBe('capacity_exceeded');
});
