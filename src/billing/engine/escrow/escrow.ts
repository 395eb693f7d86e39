import { type WrittenRecord, serialiseRecord } from '../../../audit';
import { type Fault, fault, type Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import type { DatabaseClock } from '../../../platform';
import { Hold, type HoldKeeper, type HoldRequest, minAmountOf, placeHold, type SettleOutcome } from './hold';
import type { NodeLease } from './node-lease';
import { unavailableFault, inUseFault } from './refusal';
import type { Slice } from './slice';
import type { SliceRegistry } from './slice-registry';
import { SliceAllocator, type SliceAllocatorOptions, UNLIMITED } from './slice-allocator';
import { type Waiter, WaitingLine } from './waiting-line';

export interface EscrowOptions extends SliceAllocatorOptions {
  /** Maximum wait of a request for money that other requests hold. */
  readonly waitMs: number;
  /** Additional wait for a draw that is in flight. */
  readonly inFlightWaitMs: number;
  readonly maxWaiters: number;
}

export const escrowDefaults: EscrowOptions = {
  sliceCap: 50_000_000_000n,
  retryMs: 100,
  recallMs: 1_200,
  handBackDelayMs: 10,
  waitMs: 950,
  inFlightWaitMs: 1_000,
  maxWaiters: 10_000,
};

export interface Settlements {
  /** Reason why the journal cannot be written; undefined while it can. */
  readonly trouble: unknown;
  readonly takesMore: boolean;
  /** Resolves once the record is durable. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void>;
}

/**
 * Spends only money that this node has drawn from the limits beforehand. A hold is placed in memory, in all scopes or
 * in none; the database is queried only when a slice runs short.
 */
export class Escrow implements HoldKeeper {
  readonly allocator: SliceAllocator;
  private readonly line: WaitingLine;
  private isServeScheduled = false;
  private holdCount = 0;
  private heldSum: Nano = 0n;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly registry: SliceRegistry,
    private readonly lease: NodeLease,
    private readonly settlements: Settlements,
    private readonly options: EscrowOptions = escrowDefaults,
  ) {
    this.line = new WaitingLine(
      () => this.clock.elapsedMs(),
      (waiter) => this.expiryRefusal(waiter),
      options.maxWaiters,
      options.inFlightWaitMs,
    );
    this.allocator = new SliceAllocator(
      options,
      this.clock,
      this.registry,
      this.line,
      lease,
      (request, amount) => (this.refusal() === undefined ? this.place(request, amount) : undefined),
    );
  }

  get holds(): number {
    return this.holdCount;
  }

  get heldMoney(): Nano {
    return this.heldSum;
  }

  get waiting(): number {
    return this.line.length;
  }

  /** Places the hold immediately, or returns null if memory does not suffice. */
  tryHold(request: HoldRequest): Hold | null {
    if (this.refusal() !== undefined) return null;
    if (this.line.length > 0 && request.refs.some((ref) => this.line.hasWaiters(scopeKey(ref)))) return null;
    return this.place(request, request.amount) ?? null;
  }

  /**
   * Places the hold, waiting briefly for money that is in flight. A request that accepts less gets its share of what
   * remains when its turn comes. Throws the refusal.
   */
  async hold(request: HoldRequest): Promise<Hold> {
    if (request.amount < 0n) throw new RangeError('a hold cannot be negative');
    const hold = this.tryHold(request);
    if (hold !== null) return hold;
    const refusal = this.refusal();
    if (refusal !== undefined) throw refusal;
    if (this.line.isFull) throw inUseFault(undefined, minAmountOf(request));
    return new Promise((resolve, reject) => {
      const deadline = this.clock.elapsedMs() + this.options.waitMs;
      this.line.add({ request, deadline, resolve, reject });
      this.serveSoon();
    });
  }

  /** Returns the largest amount that could be held now: the bound of a request that names none. */
  async headroom(refs: readonly LimitRef[]): Promise<Nano> {
    const refusal = this.refusal();
    if (refusal !== undefined) throw refusal;
    return this.allocator.headroom(refs);
  }

  async isUnlimited(refs: readonly LimitRef[]): Promise<boolean> {
    return (await this.headroom(refs)) >= UNLIMITED;
  }

  settle(hold: Hold, slices: readonly Slice[], outcome: SettleOutcome): Promise<void> {
    const cost = outcome.costNano;
    const rest = hold.amount - cost;
    const used = slices.map((slice) => slice.charge(cost, rest));
    this.endHold(hold, slices);
    // Request ids are case-insensitive.
    const record = serialiseRecord(hold.requestId.toLowerCase(), hold.heldAt, outcome);
    return this.settlements.record(record, slices, used);
  }

  release(hold: Hold, slices: readonly Slice[]): void {
    for (const slice of slices) slice.release(hold.amount);
    this.endHold(hold, slices);
  }

  /** Serves requests that wait for these slices, here and on other nodes. */
  private serveFreed(slices: readonly Slice[]): void {
    if (this.line.length > 0) this.serveSoon();
    for (const slice of slices)
      if (slice.recalledUntil > 0 || slice.isRetired) this.allocator.scheduleHandBack(slice);
  }

  /** Returns why nothing can be held at present; undefined if holds are possible. */
  private refusal(): Fault | undefined {
    const { trouble, takesMore } = this.settlements;
    if (!this.lease.isAdmitting) return fault('billing_unavailable', { retryAfterSeconds: 2 });
    if (trouble !== undefined) return unavailableFault(trouble);
    return takesMore ? undefined : fault('billing_unavailable', { retryAfterSeconds: 2 });
  }

  private place(request: HoldRequest, amount: Nano): Hold | undefined {
    const { refs } = request;
    const elapsed = this.clock.elapsedMs();
    const now = this.clock.at(elapsed);
    const slices = new Array<Slice>(refs.length);
    let heldAt = now;
    for (let index = 0; index < refs.length; index += 1) {
      const slice = this.registry.current(refs[index]!, now);
      if (slice === undefined || !slice.covers(amount)) return undefined;
      slices[index] = slice;
      if (slice.window !== null && slice.window.startsAt > heldAt) heldAt = slice.window.startsAt;
    }
    const roughly = Number(amount);
    for (const slice of slices) {
      slice.take(amount, roughly);
      slice.lastUsedAt = elapsed;
      if (slice.free < slice.lowWater && slice.retryAt <= elapsed) this.replenish(slice);
    }
    this.holdCount += 1;
    this.heldSum += amount;
    return placeHold(this, request, slices, Math.floor(heldAt), amount);
  }

  /** Draws money ahead of need, so that the warm path never waits. */
  private replenish(slice: Slice): void {
    slice.lowWater = 0n;
    this.allocator.topUp(slice);
  }

  private endHold({ amount }: Hold, slices: readonly Slice[]): void {
    this.holdCount -= 1;
    this.heldSum -= amount;
    this.serveFreed(slices);
  }

  /** Batches everything that happens in one turn of the event loop. */
  private serveSoon(): void {
    if (this.isServeScheduled) return;
    this.isServeScheduled = true;
    setImmediate(() => {
      this.isServeScheduled = false;
      this.allocator.serve();
    });
  }

  /** Returns the refusal for a waiter whose wait has ended; undefined while a draw in flight can still serve it. */
  private expiryRefusal({ request, deadline }: Waiter): Fault | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) return refusal;
    const { lastDraw } = this.allocator;
    const since = deadline - this.options.waitMs;
    if (lastDraw === 'answered' && !this.allocator.isUnanswered(request, since))
      return inUseFault(request.refs[0], minAmountOf(request));
    if (lastDraw === 'failed') return unavailableFault();
    return this.clock.elapsedMs() < deadline + this.options.inFlightWaitMs ? undefined : unavailableFault();
  }
}
