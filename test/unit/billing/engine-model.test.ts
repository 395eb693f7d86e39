import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { type Hold, type LimitRef, MoneyEngine } from '../../../src/billing';
import type { Journal } from '../../../src/billing/engine/settlement/journal';
import { uuidv7 } from '../../../src/kernel';
import { createRecord } from '../../support/record-fixture';
import { MemoryStore } from './memory-store';
import { until } from '../../support/until';

/**
 * Two nodes share one store whose responses get lost before or after they take effect, while leases are swept, limits
 * change and disks fill up. Invariants: no overspending, escrow equals the slices of the leases, and every charge lands
 * once, or never if its caller saw an error.
 */
const key: LimitRef = { kind: 'key', id: 1 };
const wallet: LimitRef = { kind: 'wallet', id: 1 };
const uncappedRef: LimitRef = { kind: 'project', id: 1 };

type EngineStep =
  | {
      readonly do: 'hold';
      readonly node: number;
      readonly amount: number;
      readonly refs: readonly LimitRef[];
    }
  | { readonly do: 'settle'; readonly pick: number; readonly percent: number }
  | { readonly do: 'release'; readonly pick: number }
  | { readonly do: 'trouble'; readonly trouble: MemoryStore['failureMode'] }
  | { readonly do: 'sweep'; readonly node: number }
  | { readonly do: 'beat' | 'turns' | 'disk' };

const steps: fc.Arbitrary<EngineStep[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('hold' as const),
        node: fc.nat(1),
        amount: fc.integer({ min: 1, max: 45 }),
        refs: fc.constantFrom([wallet], [key, wallet], [key, uncappedRef, wallet]),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat(), percent: fc.nat(130) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('trouble' as const),
        trouble: fc.constantFrom('none' as const, 'none' as const, 'before' as const, 'after' as const),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep' as const), node: fc.nat(1) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('beat' as const, 'turns' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('disk' as const) }) },
  ),
  { minLength: 20, maxLength: 90, size: 'max' },
);

class EngineModel {
  readonly store = new MemoryStore();
  readonly nodes: MoneyEngine[] = [];
  readonly holds: { hold: Hold; node: number; swept: () => boolean }[] = [];
  private readonly settled: { node: number; requestId: string; cost: bigint }[] = [];
  private readonly waiting: Promise<unknown>[] = [];
  private swept = [0, 0];
  expected = 0n;
  private isFull = false;
  private readonly settling: Promise<unknown>[] = [];
  /** Amount charged beyond its hold, or under a lease that was swept before the commit. */
  beyondHolds = 0n;

  constructor(private readonly folder: string) {}

  async open(beatMs = 4): Promise<void> {
    this.store.limit(wallet, 90n);
    this.store.limit(key, 70n);
    for (const name of ['a', 'b']) {
      const node = new MoneyEngine(this.store, this.store.announcements, {
        dataFolder: join(this.folder, name),
        acknowledge: 'journal',
        escrow: { waitMs: 15, retryMs: 3, handBackDelayMs: 1, recallMs: 30 },
        lease: { beatMs, admitMs: 10_000, maxUnusedMs: 20 },
        commitWaitMs: 55,
        disk: this.disk,
      });
      await node.start();
      this.nodes.push(node);
    }
  }

  async take(step: EngineStep): Promise<void> {
    if (step.do === 'hold') return this.hold(step);
    if (step.do === 'trouble') this.store.failureMode = step.trouble;
    if (step.do === 'turns') for (let turnIndex = 0; turnIndex < 4; turnIndex += 1) await turn();
    if (step.do === 'beat') await delay(5);
    if (step.do === 'disk') this.fill(!this.isFull);
    if (step.do === 'sweep') {
      this.swept[step.node]! += 1;
      const charged = new Set([...this.store.charged.keys()].map((id) => id.split(' ')[0]));
      for (const { node, requestId, cost } of this.settled) {
        if (node === step.node && !charged.has(requestId)) this.beyondHolds += cost;
      }
      await this.store.sweep(this.nodes[step.node]!.node).catch(() => undefined);
    }
    if (step.do === 'settle' || step.do === 'release') {
      const [picked] = this.holds.splice(step.pick % Math.max(1, this.holds.length), 1);
      if (picked === undefined) return;
      if (step.do === 'release') picked.hold.release();
      else this.settle(picked, (picked.hold.amount * BigInt(step.percent)) / 100n);
    }
  }

  private settle({ hold, node, swept }: EngineModel['holds'][number], cost: bigint): void {
    const id = (kind: LimitRef['kind']) => hold.refs.find((ref) => ref.kind === kind)?.id ?? null;
    this.expected += cost;
    this.beyondHolds += swept() ? cost : cost > hold.amount ? cost - hold.amount : 0n;
    this.settled.push({ node, requestId: hold.requestId, cost });
    const record = createRecord({
      costNano: cost,
      keyId: id('key'),
      walletId: id('wallet'),
      projectId: id('project'),
    });
    this.settling.push(
      hold.settle(record).catch(() => {
        // A charge committed before its caller saw an error stays; nothing is committed afterwards.
        const ids = [...this.store.charged.keys()];
        if (!ids.some((each) => each.startsWith(hold.requestId))) this.expected -= cost;
      }),
    );
  }

  private readonly disk = {
    open: () => 1,
    write: (_file: number, bytes: Buffer) => {
      if (this.isFull) throw new Error('ENOSPC');
      return bytes.length;
    },
    truncate: () => undefined,
    close: () => undefined,
    remove: () => undefined,
  };

  private fill(isFull: boolean): void {
    this.isFull = isFull;
    for (const node of this.nodes) (node as unknown as { journal: Journal }).journal.probe();
  }

  private hold({ node, amount, refs }: EngineStep & { readonly do: 'hold' }): void {
    const sweptBefore = this.swept[node]!;
    const placed = this.nodes[node]!.escrow.hold({ requestId: uuidv7(), amount: BigInt(amount), refs })
      .then((hold) => {
        // A real sweep only affects a node that stopped admitting; in this model the node might not know yet.
        const isUnaware = !this.hasLease(node);
        this.holds.push({ hold, node, swept: () => isUnaware || this.swept[node]! > sweptBefore });
      })
      .catch((error: { code?: string }) =>
        expect(error.code).toMatch(/_exceeded$|_reached$|billing_unavailable/),
      );
    this.waiting.push(placed);
  }

  private hasLease(place: number): boolean {
    const { node } = this.nodes[place]!;
    return [...this.store.leases.values()].some((lease) => lease.node === node);
  }

  check(): void {
    expect(this.store.violations).toEqual([]);
    for (const [windowId, limit] of this.store.limits) {
      const slices = [...this.store.leases.values()].map((lease) => lease.slices.get(windowId) ?? 0n);
      expect(limit.escrowed).toBe(slices.reduce((sum, slice) => sum + slice, 0n));
      expect(limit.spent + limit.escrowed).toBeLessThanOrEqual(limit.limit + this.beyondHolds);
    }
  }

  /** Closes the nodes and checks that no money stays in a slice, even if responses were lost. */
  async close(): Promise<void> {
    this.store.failureMode = 'none';
    this.fill(false);
    await Promise.all(this.waiting);
    for (const { hold } of this.holds.splice(0)) hold.release();
    const escrowed = () => [...this.store.limits.values()].reduce((sum, limit) => sum + limit.escrowed, 0n);
    await until(() => escrowed() === 0n);
    await Promise.all(this.nodes.map((node) => node.stop()));
    await Promise.all(this.settling);
  }
}

let folder: string;
beforeEach(() => {
  // Faults caused on purpose are logged at length.
  Logger.overrideLogger(false);
  folder = mkdtempSync(join(tmpdir(), 'switchboard-model-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('node with a swept lease starts from zero and gives its new slices nothing for old holds', async () => {
  const model = new EngineModel(folder);
  await model.open(60_000);
  const [swept, other] = model.nodes as [MoneyEngine, MoneyEngine];
  const placeHold = (node: MoneyEngine, amount: bigint) =>
    node.escrow.hold({ requestId: uuidv7(), amount, refs: [wallet] });
  // Retries a retryable refusal, so that the test does not depend on how soon money is released.
  const placeWhenFree = async (node: MoneyEngine, amount: bigint): Promise<Hold> => {
    for (;;) {
      const hold = await placeHold(node, amount).catch((error: unknown) => {
        if (!/capacity_exceeded/.test(String(error))) throw error;
        return null;
      });
      if (hold !== null) return hold;
    }
  };
  const settle = (hold: Hold, costNano: bigint) => hold.settle(createRecord({ costNano, walletId: 1 }));
  const slices = () => [...model.store.leases.values()].map(({ slices: each }) => each.get('wallet:1') ?? 0n);

  const oldHold = await placeHold(swept, 20n);
  (await placeHold(swept, 20n)).release();
  await model.store.sweep(swept.node);
  const largeHold = await placeWhenFree(other, 90n);
  // The node learns of the sweep from its next draw.
  await expect(placeHold(swept, 50n)).rejects.toThrow(/billing_unavailable|capacity_exceeded/);
  await expect(placeHold(swept, 1n)).rejects.toThrow(/billing_unavailable|capacity_exceeded/);
  await settle(largeHold, 30n);
  const newHold = await placeWhenFree(swept, 20n);
  await settle(oldHold, 20n);
  while (swept.pending + other.pending > 0) await turn();
  expect(slices().reduce((sum, slice) => sum + slice, 0n)).toBe(model.store.limits.get('wallet:1')?.escrowed);
  await settle(newHold, 20n);
  while (swept.pending > 0) await turn();
  expect(model.store.limits.get('wallet:1')?.spent).toBe(70n);
  await Promise.all(model.nodes.map((node) => node.stop()));
});

test('money adds up after any sequence of steps', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const model = new EngineModel(join(folder, String((runs += 1))));
      await model.open();
      for (const step of sequence) {
        await model.take(step);
        model.check();
      }
      await model.close();
      model.check();
      const charged = [...model.store.charged.values()].reduce((sum, cost) => sum + cost, 0n);
      expect(charged).toBe(model.expected);
      expect(model.store.limits.get('wallet:1')).toMatchObject({ spent: model.expected, escrowed: 0n });
    }),
    { numRuns: 60 },
  );
}, 300_000);
