import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { type Hold, type LimitRef, MoneyEngine } from '../../../src/billing';
import type { Journal } from '../../../src/billing/engine/settlement/journal';
import { uuidv7 } from '../../../src/kernel';
import { aRecord } from '../../support/a-record';
import { MemoryStore } from './memory-store';
import { until } from '../../support/until';

/**
 * Two nodes work on one truth, with answers that get lost before or after they took effect. Leases are swept,
 * limits change, and disks fill up. Whatever happens, nothing is spent that was not left, and escrow is what
 * the leases hold. A node never believes it has more than the truth says. Every charge lands exactly once, or
 * never where its caller was told that it could not be recorded.
 */
const key: LimitRef = { kind: 'key', id: 1 };
const wallet: LimitRef = { kind: 'wallet', id: 1 };
const open: LimitRef = { kind: 'project', id: 1 };

type Step =
  | {
      readonly do: 'hold';
      readonly node: number;
      readonly amount: number;
      readonly refs: readonly LimitRef[];
    }
  | { readonly do: 'settle'; readonly pick: number; readonly percent: number }
  | { readonly do: 'release'; readonly pick: number }
  | { readonly do: 'trouble'; readonly trouble: MemoryStore['trouble'] }
  | { readonly do: 'sweep'; readonly node: number }
  | { readonly do: 'beat' | 'turns' | 'disk' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('hold' as const),
        node: fc.nat(1),
        amount: fc.integer({ min: 1, max: 45 }),
        refs: fc.constantFrom([wallet], [key, wallet], [key, open, wallet]),
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

class World {
  readonly store = new MemoryStore();
  readonly nodes: MoneyEngine[] = [];
  readonly holds: { hold: Hold; node: number; swept: () => boolean }[] = [];
  private readonly settled: { node: number; requestId: string; cost: bigint }[] = [];
  private readonly waiting: Promise<unknown>[] = [];
  private swept = [0, 0];
  expected = 0n;
  private isFull = false;
  private readonly settling: Promise<unknown>[] = [];
  /** This was charged beyond its hold, or under a lease that was swept before it was committed. */
  beyond = 0n;

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

  async take(step: Step): Promise<void> {
    if (step.do === 'hold') return this.hold(step);
    if (step.do === 'trouble') this.store.trouble = step.trouble;
    if (step.do === 'turns') for (let passed = 0; passed < 4; passed += 1) await turn();
    if (step.do === 'beat') await delay(5);
    if (step.do === 'disk') this.fill(!this.isFull);
    if (step.do === 'sweep') {
      this.swept[step.node]! += 1;
      const charged = new Set([...this.store.charged.keys()].map((id) => id.split(' ')[0]));
      for (const { node, requestId, cost } of this.settled) {
        if (node === step.node && !charged.has(requestId)) this.beyond += cost;
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

  private settle({ hold, node, swept }: World['holds'][number], cost: bigint): void {
    const id = (kind: LimitRef['kind']) => hold.refs.find((ref) => ref.kind === kind)?.id ?? null;
    this.expected += cost;
    this.beyond += swept() ? cost : cost > hold.amount ? cost - hold.amount : 0n;
    this.settled.push({ node, requestId: hold.requestId, cost });
    const record = aRecord({
      costNano: cost,
      keyId: id('key'),
      walletId: id('wallet'),
      projectId: id('project'),
    });
    this.settling.push(
      hold.settle(record).catch(() => {
        // A charge that was committed before its caller was told otherwise stays; nothing is committed
        // afterwards.
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

  private hold({ node, amount, refs }: Step & { readonly do: 'hold' }): void {
    const before = this.swept[node]!;
    const placed = this.nodes[node]!.escrow.hold({ requestId: uuidv7(), amount: BigInt(amount), refs })
      .then((hold) => {
        // A real sweep takes only what a node that has stopped admitting held; here the node may not know yet.
        const unaware = !this.hasLease(node);
        this.holds.push({ hold, node, swept: () => unaware || this.swept[node]! > before });
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
      expect(limit.spent + limit.escrowed).toBeLessThanOrEqual(limit.limit + this.beyond);
    }
  }

  /** Once nobody asks any more, nothing stays behind in a slice, whatever answers were lost. */
  async close(): Promise<void> {
    this.store.trouble = 'none';
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
  // Faults that these tests make on purpose are reported at length.
  Logger.overrideLogger(false);
  folder = mkdtempSync(join(tmpdir(), 'switchboard-model-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a node whose lease was swept begins from nothing, and takes nothing from its new slices for old holds', async () => {
  const world = new World(folder);
  await world.open(60_000);
  const [swept, other] = world.nodes as [MoneyEngine, MoneyEngine];
  const place = (node: MoneyEngine, amount: bigint) =>
    node.escrow.hold({ requestId: uuidv7(), amount, refs: [wallet] });
  // A refusal that asks to be repeated is repeated, so that nothing depends on how soon money comes back.
  const placeWhenFree = async (node: MoneyEngine, amount: bigint): Promise<Hold> => {
    for (;;) {
      const hold = await place(node, amount).catch((error: unknown) => {
        if (!/capacity_exceeded/.test(String(error))) throw error;
        return null;
      });
      if (hold !== null) return hold;
    }
  };
  const settle = (hold: Hold, costNano: bigint) => hold.settle(aRecord({ costNano, walletId: 1 }));
  const slices = () => [...world.store.leases.values()].map(({ slices: each }) => each.get('wallet:1') ?? 0n);

  const old = await place(swept, 20n);
  (await place(swept, 20n)).release();
  await world.store.sweep(swept.node);
  const all = await placeWhenFree(other, 90n);
  // The draw is what tells it.
  await expect(place(swept, 50n)).rejects.toThrow(/billing_unavailable|capacity_exceeded/);
  await expect(place(swept, 1n)).rejects.toThrow(/billing_unavailable|capacity_exceeded/);
  await settle(all, 30n);
  const young = await placeWhenFree(swept, 20n);
  await settle(old, 20n);
  while (swept.pending + other.pending > 0) await turn();
  expect(slices().reduce((sum, slice) => sum + slice, 0n)).toBe(world.store.limits.get('wallet:1')?.escrowed);
  await settle(young, 20n);
  while (swept.pending > 0) await turn();
  expect(world.store.limits.get('wallet:1')?.spent).toBe(70n);
  await Promise.all(world.nodes.map((node) => node.stop()));
});

test('whatever happens, the money adds up', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const world = new World(join(folder, String((runs += 1))));
      await world.open();
      for (const step of taken) {
        await world.take(step);
        world.check();
      }
      await world.close();
      world.check();
      const charged = [...world.store.charged.values()].reduce((sum, cost) => sum + cost, 0n);
      expect(charged).toBe(world.expected);
      expect(world.store.limits.get('wallet:1')).toMatchObject({ spent: world.expected, escrowed: 0n });
    }),
    { numRuns: 60 },
  );
}, 300_000);
