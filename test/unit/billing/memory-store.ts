import { type LimitRef, scopeKey } from '../../../src/billing/scope';
import {
  type DrawRequest,
  type SettlementRequest,
  type Beat,
  CalledOff,
  type DrawResult,
  LeaseGone,
  type MoneyStore,
  type SlicePortion,
  type SettlementResult,
} from '../../../src/billing/engine/store/money-store';

export interface MemoryLimit {
  readonly ref: LimitRef;
  limit: bigint;
  spent: bigint;
  escrowed: bigint;
}

interface MemoryLease {
  readonly node: string;
  operation: number;
  batch: number;
  readonly slices: Map<string, bigint>;
}

/** Money store in memory that follows the rules of the database functions, with one window per scope. */
export class MemoryStore implements MoneyStore {
  readonly limits = new Map<string, MemoryLimit>();
  readonly leases = new Map<string, MemoryLease>();
  readonly charged = new Map<string, bigint>();
  /** Requests that no node should ever make. */
  readonly violations: string[] = [];
  private readonly listeners = new Set<(payload: string) => void>();
  private readonly scopes = new Map<number, string>();
  /** Makes the next responses fail, before or after they take effect. */
  failureMode: 'none' | 'before' | 'after' = 'none';

  limit(ref: LimitRef, limit: bigint): void {
    const window = `${ref.kind}:${ref.id}`;
    this.scopes.set(scopeKey(ref), window);
    const known = this.limits.get(window);
    if (known) known.limit = limit;
    else this.limits.set(window, { ref, limit, spent: 0n, escrowed: 0n });
    this.announce(`limit ${ref.kind} ${ref.id}`);
  }

  readonly announcements = {
    on: (_channel: string, handler: (payload: string) => void) => {
      this.listeners.add(handler);
      return Promise.resolve(() => void this.listeners.delete(handler));
    },
    onGap: () => () => undefined,
  };

  beat(lease: string, node: string, begin: boolean): Promise<Beat> {
    return this.answer(() => {
      if (begin && !this.leases.has(lease)) {
        this.leases.set(lease, { node, operation: 0, batch: 0, slices: new Map() });
      }
      return { alive: this.leases.has(lease), now: Date.now(), changed: [] };
    });
  }

  draw(lease: string, operation: number, asks: readonly DrawRequest[]): Promise<DrawResult[]> {
    return this.answer(() => {
      const { slices } = this.begin(lease, operation);
      return asks.map((ask) => this.drawOne(lease, slices, ask));
    });
  }

  giveBack(lease: string, operation: number, portions: readonly SlicePortion[]): Promise<void> {
    return this.answer(() => {
      const { slices } = this.begin(lease, operation);
      for (const { windowId, amount } of portions) this.release(slices, windowId, amount);
      for (const { windowId } of portions) this.announce(`returned ${windowId}`);
    });
  }

  audit(lease: string, operation: number): Promise<SlicePortion[]> {
    return this.answer(() =>
      [...this.begin(lease, operation).slices].map(([windowId, amount]) => ({ windowId, amount })),
    );
  }

  sweep(node?: string): Promise<number> {
    return this.answer(() => {
      const deadLeases = [...this.leases].filter(([, lease]) => lease.node === node);
      for (const [id, { slices }] of deadLeases) {
        for (const [windowId, amount] of [...slices]) {
          this.release(slices, windowId, amount);
          this.announce(`returned ${windowId}`);
        }
        this.leases.delete(id);
      }
      return deadLeases.length;
    });
  }

  unreadJournals(): Promise<[]> {
    return Promise.resolve([]);
  }

  forgottenNodes(): Promise<string[]> {
    return Promise.resolve([]);
  }

  liveNodes(): Promise<string[]> {
    return Promise.resolve([...this.leases.values()].map(({ node }) => node));
  }

  settle(batch: SettlementRequest): Promise<SettlementResult> {
    return this.answer(() => {
      const knownIndexes: number[] = [];
      const isThere = ({ requestId, createdMs }: { requestId: string; createdMs: number }) =>
        this.charged.has(`${requestId} ${createdMs}`);
      if (![...batch.records].every(isThere) && batch.isCalledOff?.() === true) throw new CalledOff();
      [...batch.records].forEach((record, place) => {
        const id = `${record.requestId} ${record.createdMs}`;
        if (this.charged.has(id)) return knownIndexes.push(place);
        this.charged.set(id, record.costNano);
        const ids = { key: record.keyId, wallet: record.walletId, user: record.userId };
        for (const [kind, owner] of Object.entries(ids)) {
          const limit = this.limits.get(`${kind}:${owner}`);
          if (limit) limit.spent += record.costNano;
        }
        return undefined;
      });
      const lease = batch.lease === null ? undefined : this.leases.get(batch.lease);
      if (lease && lease.batch < batch.number) {
        lease.batch = batch.number;
        for (const { windowId, amount } of batch.releases) this.release(lease.slices, windowId, amount);
      }
      const windows = [...this.limits].map(([windowId, { limit, spent }]) => ({
        windowId,
        limitLeft: limit - spent,
      }));
      return { known: knownIndexes, windows };
    });
  }

  private drawOne(lease: string, slices: Map<string, bigint>, { ref, need, want }: DrawRequest): DrawResult {
    const windowId = this.scopes.get(scopeKey(ref));
    const limit = windowId === undefined ? undefined : this.limits.get(windowId);
    if (windowId === undefined || limit === undefined) {
      return {
        window: null,
        granted: null,
        limitLeft: 0n,
        poolLeft: 0n,
        elsewhere: 0n,
        resetsAt: Infinity,
        now: Date.now(),
      };
    }
    const pool = limit.limit - limit.spent - limit.escrowed;
    const ownSlice = slices.get(windowId) ?? 0n;
    const otherSlices = limit.escrowed - ownSlice;
    let granted: bigint | null = null;
    if (pool >= need) {
      const share = pool / (2n * BigInt(this.leases.size));
      const cappedWant = want < share ? want : share;
      granted = need > cappedWant ? need : cappedWant;
      if (granted < 0n) granted = 0n;
      limit.escrowed += granted;
      if (granted > 0n) slices.set(windowId, ownSlice + granted);
    } else if (otherSlices > 0n) this.announce(`recall ${lease} ${windowId}`);
    return {
      window: { id: windowId, startsAt: -Infinity, endsAt: Infinity },
      granted,
      limitLeft: limit.limit - limit.spent,
      poolLeft: pool - (granted ?? 0n),
      elsewhere: otherSlices,
      resetsAt: Infinity,
      now: Date.now(),
    };
  }

  private begin(id: string, operation: number): MemoryLease {
    const lease = this.leases.get(id);
    if (lease === undefined) throw new LeaseGone();
    if (lease.operation >= operation) throw new Error('this operation comes late');
    lease.operation = operation;
    return lease;
  }

  private release(slices: Map<string, bigint>, windowId: string, amount: bigint): void {
    const heldAmount = slices.get(windowId) ?? 0n;
    if (heldAmount < amount) {
      const violation = `a slice of ${heldAmount} cannot release ${amount}`;
      this.violations.push(violation);
      throw new Error(violation);
    }
    slices.set(windowId, heldAmount - amount);
    if (heldAmount === amount) slices.delete(windowId);
    this.limits.get(windowId)!.escrowed -= amount;
  }

  private announce(payload: string): void {
    for (const listener of this.listeners) setImmediate(() => listener(payload));
  }

  private async answer<T>(work: () => T): Promise<T> {
    const { failureMode: trouble } = this;
    await new Promise((resolve) => setImmediate(resolve));
    if (trouble === 'before') throw new Error('the connection was lost');
    const result = work();
    await new Promise((resolve) => setImmediate(resolve));
    if (trouble === 'after') throw new Error('the connection was lost');
    return result;
  }
}
