import fc from 'fast-check';
import { Client } from 'pg';
import { serialiseRecord } from '#product/audit';
import { type LimitRef, PostgresMoneyStore, verifyMoney } from '#product/billing';
import { type SettlementRequest, LeaseGone } from '#inside/billing/engine/store/money-store';
import { verifyMoneyExclusively } from '#inside/billing/ledger/verify-money';
import { uuidv7 } from '#product/kernel';
import { outcomeOf, expectMoneyToAddUp, MoneyFixture } from './money-fixture';

/**
 * Compares the database with a model under any interleaving of draws, returns, settlements, sweeps, credits and limit
 * changes. The model tracks the holdings of each lease; the consistency checks cover the rest.
 */
type StoreModelStep =
  | { do: 'draw'; lease: number; scope: number; need: number; more: number }
  | { do: 'return' | 'late'; lease: number; share: number }
  | { do: 'settle'; lease: number; scope: number; costs: number[]; hoursAgo: number; share: number }
  | { do: 'again' }
  | { do: 'seal' }
  | { do: 'sweep'; lease: number }
  | { do: 'limit'; period: 'daily' | 'monthly' | 'rolling'; amount: number | null }
  | { do: 'post'; amount: number }
  | { do: 'pass'; hours: number };

const lease = fc.nat(1);
const scope = fc.nat(1);
const share = fc.nat(100);
const period = fc.constantFrom('daily' as const, 'monthly' as const, 'rolling' as const);
const steps: fc.Arbitrary<StoreModelStep[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('draw' as const),
        lease,
        scope,
        need: fc.nat(60),
        more: fc.nat(40),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('return' as const, 'late' as const), lease, share }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('settle' as const),
        lease,
        scope,
        share,
        costs: fc.array(fc.nat(30), { minLength: 1, maxLength: 3 }),
        hoursAgo: fc.integer({ min: -60, max: 760 }),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'again' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'seal' as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const), lease }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('limit' as const),
        period,
        amount: fc.option(fc.nat(200)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('post' as const),
        amount: fc.integer({ min: -80, max: 200 }).filter(Boolean),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('pass' as const), hours: fc.integer({ min: 1, max: 700 }) }),
    },
  ),
  { minLength: 4, maxLength: 24 },
);

let fixture: MoneyFixture;
let owner: Client;
let modelCount = 0;
beforeAll(async () => {
  fixture = await MoneyFixture.open();
  owner = new Client({ connectionString: fixture.test.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await fixture.close();
});

class StoreModel {
  readonly id = (modelCount += 1);
  readonly refs: LimitRef[] = [
    { kind: 'key', id: this.id },
    { kind: 'wallet', id: this.id },
  ];
  private readonly store = new PostgresMoneyStore(fixture.database);
  private readonly leases = [uuidv7(), uuidv7()];
  private slices = [new Map<string, bigint>(), new Map<string, bigint>()];
  private operations = [0, 0];
  private batches = 0;
  private lastBatch: SettlementRequest | undefined;
  spent = 0n;

  async begin(place: number): Promise<void> {
    await this.store.beat(this.leases[place]!, `${this.id}-${place}`, true);
  }

  async applyStep(step: StoreModelStep): Promise<void> {
    if (step.do === 'draw')
      return this.draw(step.lease, this.refs[step.scope]!, BigInt(step.need), BigInt(step.more));
    if (step.do === 'return') return this.giveBack(step.lease, BigInt(step.share));
    if (step.do === 'late') return this.drawLate(step.lease);
    if (step.do === 'settle') return this.settle(step);
    if (step.do === 'again' && this.lastBatch)
      expect((await this.store.settle(this.lastBatch)).known).toHaveLength(this.lastBatch.records.length);
    if (step.do === 'seal') return this.seal();
    if (step.do === 'sweep') return this.sweep(step.lease);
    if (step.do === 'post') await fixture.credit(this.id, BigInt(step.amount));
    if (step.do === 'limit') await this.limit(step.period, step.amount);
    if (step.do === 'pass') await this.passHours(step.hours);
  }

  /** Compares the holdings of each lease with the sum of the store's replies. */
  async check(): Promise<void> {
    for (const place of [0, 1]) {
      const held = await this.store.audit(this.leases[place]!, (this.operations[place]! += 1));
      const found = held.map(({ windowId, amount }) => [windowId, amount] as const);
      const isPositive = ([, amount]: readonly [string, bigint]): boolean => amount > 0n;
      expect(new Map(found.filter(isPositive))).toEqual(new Map([...this.slices[place]!].filter(isPositive)));
    }
    expect((await fixture.ledger.wallet(this.id)).spent).toBe(this.spent);
  }

  private async draw(place: number, ref: LimitRef, need: bigint, more: bigint): Promise<void> {
    const drawRequest = { ref, need, want: need + more };
    const [drawn] = await this.store.draw(this.leases[place]!, (this.operations[place]! += 1), [drawRequest]);
    const { window, granted, poolLeft, limitLeft } = drawn!;
    if (window === null) return expect(ref.kind).toBe('key');
    if (granted === null) return expect(poolLeft).toBeLessThan(need);
    expect(granted).toBeGreaterThanOrEqual(need);
    if (granted > 0n) expect(poolLeft).toBeGreaterThanOrEqual(0n);
    expect(limitLeft).toBeGreaterThanOrEqual(poolLeft);
    this.change(place, window.id, granted);
  }

  private async giveBack(place: number, share: bigint): Promise<void> {
    const portions = [...this.slices[place]!].map(([windowId, amount]) => ({
      windowId,
      amount: (amount * share) / 100n,
    }));
    await this.store.giveBack(this.leases[place]!, (this.operations[place]! += 1), portions);
    for (const { windowId, amount } of portions) this.change(place, windowId, -amount);
  }

  private async drawLate(place: number): Promise<void> {
    if (this.operations[place] === 0) return;
    const lateDraw = this.store.draw(this.leases[place]!, this.operations[place]!, [
      { ref: this.refs[1]!, need: 0n, want: 9n },
    ]);
    await expect(lateDraw).rejects.toThrow('comes late');
  }

  private async settle({
    lease: place,
    scope: only,
    costs,
    hoursAgo,
    share: part,
  }: StoreModelStep & { do: 'settle' }): Promise<void> {
    const createdMs = Date.now() - hoursAgo * 3_600_000;
    const refs = only === 0 ? this.refs : this.refs.slice(1);
    const records = costs.map((cost) => serialiseRecord(uuidv7(), createdMs, outcomeOf(BigInt(cost), refs)));
    const releases = [...this.slices[place]!].map(([windowId, amount]) => ({
      windowId,
      amount: (amount * BigInt(part)) / 100n,
    }));
    this.lastBatch = { lease: this.leases[place]!, number: (this.batches += 1), records, releases };
    expect((await this.store.settle(this.lastBatch)).known).toEqual([]);
    for (const { windowId, amount } of releases) this.change(place, windowId, -amount);
    this.spent += BigInt(costs.reduce((sum, cost) => sum + cost, 0));
  }

  private async sweep(place: number): Promise<void> {
    await this.store.sweep(`${this.id}-${place}`);
    await expect(this.store.audit(this.leases[place]!, 1_000)).rejects.toThrow(LeaseGone);
    this.leases[place] = uuidv7();
    this.slices[place] = new Map();
    this.operations[place] = 0;
    await this.begin(place);
  }

  private limit(period: 'daily' | 'monthly' | 'rolling', amount: number | null): Promise<void> {
    const key = { kind: 'key', id: this.id } as const;
    return fixture.database.transaction((tx) =>
      amount === null
        ? fixture.limits.remove(tx, key)
        : fixture.limits.set(tx, key, { period, limit: BigInt(amount) }),
    );
  }

  /** Shifts stored times into the past, so that the next windows open and old spending leaves the rolling window. */
  private async passHours(hours: number): Promise<void> {
    await owner.query(
      `SELECT open_spending_windows('{key}', ARRAY[$1::bigint], now() + make_interval(hours => $2))`,
      [this.id, hours],
    );
    await owner.query(
      `SELECT roll_spending_windows(array_agg(id), now() + make_interval(hours => $2))
         FROM spending_window WHERE kind = 'key' AND owner_id = $1`,
      [this.id, hours],
    );
  }

  /** Lets an hour pass, so that all earlier usage can be sealed. */
  private async seal(): Promise<void> {
    await owner.query(`
      ALTER TABLE ledger_transaction DISABLE TRIGGER USER;
      UPDATE ledger_transaction SET created_at = created_at - interval '1 hour';
      ALTER TABLE ledger_transaction ENABLE TRIGGER USER;
      UPDATE request_record SET settled_at = settled_at - interval '1 hour';
      UPDATE money_seal SET sealed_to = sealed_to - interval '1 hour'`);
    expect(await verifyMoneyExclusively(fixture.database)).toMatchObject({ addsUp: true });
  }

  private change(place: number, windowId: string, by: bigint): void {
    const slices = this.slices[place]!;
    slices.set(windowId, (slices.get(windowId) ?? 0n) + by);
  }
}

test('database and model agree in any order of operations, and every consistency check passes', async () => {
  await fc.assert(
    fc.asyncProperty(period, steps, async (first, taken) => {
      const model = new StoreModel();
      await model.begin(0);
      await model.begin(1);
      await model.applyStep({ do: 'limit', period: first, amount: 150 });
      for (const step of taken) await model.applyStep(step);
      await model.check();
      await expectMoneyToAddUp(fixture.database);
      expect(await verifyMoney(fixture.database, { full: false })).toMatchObject({ addsUp: true });
    }),
    { numRuns: 40 },
  );
}, 300_000);
