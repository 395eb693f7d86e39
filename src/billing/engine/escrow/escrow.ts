import { type WrittenRecord, writtenRecord } from '../../../audit';
import { type Fault, fault, type Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import type { DatabaseClock } from '../../../platform';
import { Hold, type HoldKeeper, type HoldRequest, leastOf, placeHold, type SettleOutcome } from './hold';
import type { NodeLease } from './node-lease';
import { cannotCheck, inUse } from './refusal';
import type { Slice } from './slice';
import type { SliceBook } from './slice-book';
import { SliceAllocator, type SliceAllocatorOptions, UNLIMITED } from './slice-allocator';
import { type Waiter, WaitingLine } from './waiting-line';

export interface EscrowOptions extends SliceAllocatorOptions {
  /** A request waits so long for money that other requests hold. */
  readonly waitMs: number;
  /** It waits so much longer for a draw that is on its way. */
  readonly silentMs: number;
  readonly mostWaiters: number;
}

export const escrowDefaults: EscrowOptions = {
  sliceCap: 50_000_000_000n,
  askAgainMs: 100,
  recallMs: 1_200,
  handBackMs: 10,
  waitMs: 950,
  silentMs: 1_000,
  mostWaiters: 10_000,
};

/** Settled requests go here, as far as the escrow knows. */
export interface Settlements {
  /** The journal cannot be written for this reason; undefined while it can. */
  readonly trouble: unknown;
  readonly takesMore: boolean;
  /** Resolves once the record is durable. */
  record(record: WrittenRecord, slices: readonly Slice[], used: readonly Nano[]): Promise<void>;
}

/**
 * Spends only what this node took out of the limits beforehand. A hold is placed in memory, in all scopes or in none;
 * the database is asked only when a slice runs short.
 */
export class Escrow implements HoldKeeper {
  readonly allocator: SliceAllocator;
  private readonly line: WaitingLine;
  private serving = false;
  private heldNow = 0;
  private heldSum: Nano = 0n;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly book: SliceBook,
    private readonly lease: NodeLease,
    private readonly settlements: Settlements,
    private readonly options: EscrowOptions = escrowDefaults,
  ) {
    this.line = new WaitingLine(
      () => this.clock.elapsedMs(),
      (waiter) => this.expired(waiter),
      options.mostWaiters,
      options.silentMs,
    );
    this.allocator = new SliceAllocator(
      options,
      this.clock,
      this.book,
      this.line,
      lease,
      (request, amount) => (this.refusal() === undefined ? this.place(request, amount) : undefined),
    );
  }

  /** So many requests hold money now. */
  get holds(): number {
    return this.heldNow;
  }

  /** They hold this much together. */
  get heldMoney(): Nano {
    return this.heldSum;
  }

  get waiting(): number {
    return this.line.length;
  }

  /** Places the hold at once, or answers null when it takes more than memory. */
  tryHold(request: HoldRequest): Hold | null {
    if (this.refusal() !== undefined) return null;
    if (this.line.length > 0 && request.refs.some((ref) => this.line.waitsFor(scopeKey(ref)))) return null;
    return this.place(request, request.amount) ?? null;
  }

  /**
   * Places the hold, waiting a moment for money that is on its way. A request that can do with less gets its share of
   * what is left, as of the moment when it is its turn. Throws the refusal.
   */
  async hold(request: HoldRequest): Promise<Hold> {
    if (request.amount < 0n) throw new RangeError('a hold cannot be negative');
    const hold = this.tryHold(request);
    if (hold !== null) return hold;
    const closed = this.refusal();
    if (closed !== undefined) throw closed;
    if (this.line.full) throw inUse(undefined, leastOf(request));
    return new Promise((resolve, reject) => {
      const deadline = this.clock.elapsedMs() + this.options.waitMs;
      this.line.add({ request, deadline, resolve, reject });
      this.serveSoon();
    });
  }

  /** The most that could be held now: the bound of a request that names none. */
  async headroom(refs: readonly LimitRef[]): Promise<Nano> {
    const closed = this.refusal();
    if (closed !== undefined) throw closed;
    return this.allocator.headroom(refs);
  }

  /** Whether none of these limits is set. */
  async isUnlimited(refs: readonly LimitRef[]): Promise<boolean> {
    return (await this.headroom(refs)) >= UNLIMITED;
  }

  settle(hold: Hold, slices: readonly Slice[], outcome: SettleOutcome): Promise<void> {
    const cost = outcome.costNano;
    const rest = hold.amount - cost;
    const used = slices.map((slice) => slice.charge(cost, rest));
    this.ended(hold, slices);
    // Two spellings are one id.
    const record = writtenRecord(hold.requestId.toLowerCase(), hold.heldAt, outcome);
    return this.settlements.record(record, slices, used);
  }

  release(hold: Hold, slices: readonly Slice[]): void {
    for (const slice of slices) slice.giveUp(hold.amount);
    this.ended(hold, slices);
  }

  /** More of these is free than before: for requests that wait, here and on other nodes. */
  private freed(slices: readonly Slice[]): void {
    if (this.line.length > 0) this.serveSoon();
    for (const slice of slices) if (slice.recalledUntil > 0 || slice.isRetired) this.allocator.spare(slice);
  }

  /** This fault says why nothing may be held at present. */
  private refusal(): Fault | undefined {
    const { trouble, takesMore } = this.settlements;
    if (!this.lease.admits) return fault('billing_unavailable', { retryAfterSeconds: 2 });
    if (trouble !== undefined) return cannotCheck(trouble);
    return takesMore ? undefined : fault('billing_unavailable', { retryAfterSeconds: 2 });
  }

  private place(request: HoldRequest, amount: Nano): Hold | undefined {
    const { refs } = request;
    const elapsed = this.clock.elapsedMs();
    const now = this.clock.at(elapsed);
    const slices = new Array<Slice>(refs.length);
    let heldAt = now;
    for (let place = 0; place < refs.length; place += 1) {
      const slice = this.book.current(refs[place]!, now);
      if (slice === undefined || !slice.covers(amount)) return undefined;
      slices[place] = slice;
      if (slice.window !== null && slice.window.startsAt > heldAt) heldAt = slice.window.startsAt;
    }
    const roughly = Number(amount);
    for (const slice of slices) {
      slice.take(amount, roughly);
      slice.lastUsedAt = elapsed;
      if (slice.free < slice.lowWater && slice.askAgainAt <= elapsed) this.replenish(slice);
    }
    this.heldNow += 1;
    this.heldSum += amount;
    return placeHold(this, request, slices, Math.floor(heldAt), amount);
  }

  /** Money is drawn ahead of need, so that the warm path never waits. */
  private replenish(slice: Slice): void {
    slice.lowWater = 0n;
    this.allocator.topUp(slice);
  }

  private ended({ amount }: Hold, slices: readonly Slice[]): void {
    this.heldNow -= 1;
    this.heldSum -= amount;
    this.freed(slices);
  }

  /** Everything that happens in one turn of the event loop is served together. */
  private serveSoon(): void {
    if (this.serving) return;
    this.serving = true;
    setImmediate(() => {
      this.serving = false;
      this.allocator.serve();
    });
  }

  /** A waiter is told the reason that is known when its wait ends; a draw in flight may take a little longer. */
  private expired({ request, deadline }: Waiter): Fault | undefined {
    const closed = this.refusal();
    if (closed !== undefined) return closed;
    const { lastDraw } = this.allocator;
    const since = deadline - this.options.waitMs;
    if (lastDraw === 'answered' && !this.allocator.isUnheard(request, since))
      return inUse(request.refs[0], leastOf(request));
    if (lastDraw === 'failed') return cannotCheck();
    return this.clock.elapsedMs() < deadline + this.options.silentMs ? undefined : cannotCheck();
  }
}
