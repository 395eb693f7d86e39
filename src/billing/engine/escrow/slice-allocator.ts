import { Logger } from '@nestjs/common';
import type { Fault, Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import { type DrawRequest, type DrawResult, LeaseGone, type SlicePortion } from '../store/money-store';
import type { DatabaseClock } from '../../../platform';
import { type Hold, type HoldRequest, minAmountOf } from './hold';
import type { NodeLease } from './node-lease';
import { unavailableFault, exhaustedFault } from './refusal';
import type { Slice } from './slice';
import type { SliceRegistry } from './slice-registry';
import type { WaitingLine } from './waiting-line';

export interface SliceAllocatorOptions {
  readonly sliceCap: Nano;
  /** Interval of the fallback poll, in case a notification is lost. */
  readonly retryMs: number;
  /** How long a recall stays in force; it is answered within this time. */
  readonly recallMs: number;
  readonly handBackDelayMs: number;
}

/** Draw request for one scope, sized for the first waiter there. */
interface ScopeDrawRequest extends DrawRequest {
  readonly amount: Nano;
  /** Whether the amount is less than requested because no more was available. */
  readonly isCapped: boolean;
}

/** Query for the largest possible hold. Shares a draw with the waiting requests. */
interface HeadroomQuery {
  readonly refs: readonly LimitRef[];
  readonly resolve: (headroom: Nano) => void;
  readonly reject: (refusal: Fault) => void;
}

interface ScopeDemand extends Omit<ScopeDrawRequest, 'want'> {
  total: Nano;
  readonly slice: Slice | undefined;
}

const noAmount = { amount: 0n, isCapped: false };

/** Whether the database has just reported less than this amount; a smaller amount can still be requested. */
const isRecentlyShort = ({ retryAt, refusedAmount }: Slice, amount: Nano, elapsed: number): boolean =>
  retryAt > elapsed && amount >= refusedAmount;

const needsDraw = (slice: Slice | undefined, amount: Nano, elapsed: number): boolean =>
  slice === undefined || !(slice.covers(amount) || isRecentlyShort(slice, amount, elapsed));

/** The headroom of scopes without a limit. */
export const UNLIMITED: Nano = 2n ** 62n;

/** Minimum number of requests of the same size that a draw covers. */
const MIN_REQUESTS_PER_DRAW = 8n;

/** Draws money for waiting requests, and hands back money that other nodes need more. */
export class SliceAllocator {
  private readonly logger = new Logger(SliceAllocator.name);
  private isDrawing = false;
  private timer: NodeJS.Timeout | undefined;
  private handBackTimer: NodeJS.Timeout | undefined;
  private readonly lowSlices = new Set<Slice>();
  /** Scopes whose limits changed during a draw. */
  private readonly changedScopes = new Set<number>();
  private headroomQueries: HeadroomQuery[] = [];
  lastDraw: 'on its way' | 'answered' | 'failed' = 'answered';
  private isStopped = false;

  constructor(
    private readonly options: SliceAllocatorOptions,
    private readonly clock: DatabaseClock,
    private readonly registry: SliceRegistry,
    private readonly line: WaitingLine,
    private readonly lease: NodeLease,
    private readonly place: (request: HoldRequest, amount: Nano) => Hold | undefined,
  ) {}

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.handBackTimer);
    this.timer = this.handBackTimer = undefined;
  }

  /** Serves waiting requests from memory, then draws for the rest. */
  serve(): void {
    this.serveFromSlices();
    void this.draw();
  }

  /** Serves requests in order: no request overtakes an earlier one that lacks money in the same scope. */
  serveFromSlices(): void {
    const shortScopes = new Set<number>();
    const now = this.clock.now();
    this.line.resolveEach((waiter) => {
      const { request } = waiter;
      const { refs } = request;
      if (shortScopes.size > 0 && refs.some((ref) => shortScopes.has(scopeKey(ref)))) return undefined;
      const amount = this.amountFor(request, now);
      const hold = this.place(request, amount);
      if (hold !== undefined) return hold;
      for (const ref of refs) {
        if (this.registry.current(ref, now)?.covers(amount) !== true) shortScopes.add(scopeKey(ref));
      }
      return undefined;
    });
  }

  /**
   * Returns the full amount, unless a draw has just reported less. The waiters then share the rest, and a request that
   * does not accept less gets all or nothing.
   */
  private amountFor(request: HoldRequest, now: number): Nano {
    const minAmount = minAmountOf(request);
    let amount = request.amount;
    if (minAmount === amount) return amount;
    const elapsed = this.clock.elapsedMs();
    for (const ref of request.refs) {
      const slice = this.registry.current(ref, now);
      if (slice === undefined || slice.window === null || slice.retryAt <= elapsed) continue;
      const waiting = BigInt(Math.max(1, this.line.countFor(slice.key)));
      const share = (slice.usable + slice.poolLeft) / waiting;
      if (share < amount) amount = share;
    }
    return amount > minAmount ? amount : minAmount;
  }

  /** Whether the request still needs a draw and none that started since then was about it. */
  isUnanswered(request: HoldRequest, startedAt: number): boolean {
    const now = this.clock.now();
    const amount = this.amountFor(request, now);
    const elapsed = this.clock.elapsedMs();
    return request.refs.some((ref) => {
      const slice = this.registry.current(ref, now);
      return needsDraw(slice, amount, elapsed) && !(slice !== undefined && slice.lastDrawAt >= startedAt);
    });
  }

  topUp(slice: Slice): void {
    this.lowSlices.add(slice);
    void this.draw();
  }

  headroom(refs: readonly LimitRef[]): Promise<Nano> {
    return new Promise((resolve, reject) => {
      this.headroomQueries.push({ refs, resolve, reject });
      void this.draw();
    });
  }

  /** Handles a recall by a node without money: for a while, money that becomes free here goes to that node. */
  handleRecall(windowId: string, byLease: string): void {
    const slice = this.registry.ofWindow(windowId);
    if (slice === undefined) return;
    slice.recalledUntil = this.clock.elapsedMs() + this.options.recallMs;
    slice.shouldYield = byLease < this.lease.id;
    this.scheduleHandBack(slice);
  }

  handleReturn(windowId: string): void {
    const slice = this.registry.ofWindow(windowId);
    if (slice === undefined || !this.line.hasWaiters(slice.key)) return;
    slice.retryAt = 0;
    void this.draw();
  }

  /** Retires the slice after the scope's rule or limit changed, so that the money is drawn again. */
  handleLimitChange(ref: LimitRef): void {
    const key = scopeKey(ref);
    if (this.isDrawing) this.changedScopes.add(key);
    const slice = this.registry.retire(key);
    if (slice?.window) void this.handBack(() => this.portionsOf([slice]));
    if (this.line.hasWaiters(key)) void this.draw();
  }

  /** Schedules handing back what became free in a recalled or retired slice, unless a request here can use it soon. */
  scheduleHandBack(slice: Slice): void {
    if (this.isStopped || slice.hasLapsed || this.handBackTimer !== undefined) return;
    if (!this.canHandBack(slice)) return;
    this.handBackTimer = setTimeout(() => {
      this.handBackTimer = undefined;
      void this.handBack(() =>
        this.portionsOf([...this.registry.all()].filter((each) => this.canHandBack(each))),
      );
    }, this.options.handBackDelayMs);
  }

  /** Keeps what two seconds might need; an unused slice is handed back completely and dropped. */
  async handBackUnused(unusedMs: number): Promise<void> {
    const elapsed = this.clock.elapsedMs();
    const isUnused = (slice: Slice): boolean =>
      !this.registry.isCurrent(slice) || elapsed - slice.lastUsedAt > unusedMs || this.hasEnded(slice);
    await this.handBack(() =>
      this.portionsOf([...this.registry.all()], (slice) =>
        isUnused(slice) ? 0n : slice.twoSecondSpending(elapsed) * 2n,
      ),
    );
    for (const slice of [...this.registry.all()])
      if (isUnused(slice) && slice.drawn === 0n) this.registry.drop(slice);
  }

  private hasEnded({ window }: Slice): boolean {
    return window !== null && window.endsAt <= this.clock.now();
  }

  private async handBack(collect: () => SlicePortion[]): Promise<void> {
    try {
      await this.lease.giveBack(collect);
    } catch (error) {
      if (!(error instanceof LeaseGone)) this.logger.warn(`Handing back failed: ${String(error)}`);
    }
  }

  private portionsOf(slices: Iterable<Slice>, keep: (slice: Slice) => Nano = () => 0n): SlicePortion[] {
    const portions: SlicePortion[] = [];
    for (const slice of slices) {
      if (slice.window === null || slice.hasLapsed) continue;
      const amount = slice.takeFree(keep(slice));
      if (amount > 0n) portions.push({ windowId: slice.window.id, amount });
    }
    return portions;
  }

  /**
   * Tie-break if both nodes have waiters: remainders too small for either gather at the other node. This node keeps
   * them only if the order of the leases favours it and more is about to become free here.
   */
  private canHandBack(slice: Slice): boolean {
    if (slice.free <= 0n) return false;
    if (slice.isRetired) return true;
    if (slice.recalledUntil < this.clock.elapsedMs()) return false;
    return slice.shouldYield || slice.held === 0n || !this.line.hasWaiters(slice.key);
  }

  /** Keeps at most one draw in flight; requests that arrive meanwhile share the next one. */
  private async draw(): Promise<void> {
    if (this.isDrawing) return;
    this.isDrawing = true;
    try {
      while (this.lease.isStarted && !this.isStopped) {
        const headroomQueries = this.headroomQueries.splice(0);
        const drawRequests = this.drawRequests(headroomQueries);
        if (drawRequests.length === 0 && headroomQueries.length === 0) break;
        await this.drawOnce(drawRequests, headroomQueries);
      }
    } finally {
      this.isDrawing = false;
      this.scheduleRetry();
      for (const { reject } of this.headroomQueries.splice(0)) reject(unavailableFault());
    }
  }

  private async drawOnce(requests: ScopeDrawRequest[], queries: readonly HeadroomQuery[]): Promise<void> {
    const startedAt = this.clock.elapsedMs();
    const poolLeft = new Map<number, Nano>();
    this.lastDraw = 'on its way';
    try {
      await this.lease.draw(requests, (drawn) => {
        drawn.forEach((result, index) => {
          const request = requests[index]!;
          this.apply(request.ref, request, result, startedAt);
          if (result.window !== null) poolLeft.set(scopeKey(request.ref), result.poolLeft);
        });
        for (const { refs, resolve } of queries) resolve(this.headroomOf(refs, poolLeft));
        for (const key of this.changedScopes) this.registry.retire(key);
        this.changedScopes.clear();
      });
      this.lastDraw = 'answered';
      this.refuseUnaffordable(new Set(requests.map((request) => scopeKey(request.ref))));
      this.serveFromSlices();
    } catch (error) {
      this.lastDraw = 'failed';
      for (const { reject } of queries) reject(unavailableFault(error));
      if (error instanceof LeaseGone) return;
      this.postpone(requests);
      const keys = new Set(requests.map((request) => scopeKey(request.ref)));
      this.line.resolveEach((waiter) =>
        waiter.request.refs.some((ref) => keys.has(scopeKey(ref))) ? unavailableFault(error) : undefined,
      );
    }
    this.line.expire();
  }

  private headroomOf(refs: readonly LimitRef[], poolLeft: ReadonlyMap<number, Nano>): Nano {
    let headroom = UNLIMITED;
    for (const ref of refs) {
      const pool = poolLeft.get(scopeKey(ref));
      if (pool === undefined) continue;
      const free = this.registry.at(scopeKey(ref))?.free ?? 0n;
      const available = pool > 0n ? pool + free : free;
      if (available < headroom) headroom = available;
    }
    return headroom;
  }

  /**
   * Builds one draw request per scope: enough for the first waiter, and if there is plenty, for all waiters and the
   * next two seconds.
   */
  private drawRequests(queries: readonly HeadroomQuery[]): ScopeDrawRequest[] {
    const elapsed = this.clock.elapsedMs();
    const now = this.clock.now();
    const demands = new Map<number, ScopeDemand>();
    for (const { request } of this.line) {
      const amount = this.amountFor(request, now);
      for (const ref of request.refs) {
        const key = scopeKey(ref);
        const demand = demands.get(key);
        if (demand !== undefined) {
          demand.total += amount;
          continue;
        }
        const slice = this.registry.current(ref, now);
        if (!needsDraw(slice, amount, elapsed)) continue;
        const need = amount - (slice?.usable ?? 0n);
        demands.set(key, { ref, need, total: amount, slice, amount, isCapped: amount < request.amount });
      }
    }
    for (const slice of this.lowSlices) {
      if (!this.registry.isCurrent(slice) || demands.has(slice.key) || slice.retryAt > elapsed) continue;
      demands.set(slice.key, { ref: slice.ref, need: 0n, total: 0n, slice, ...noAmount });
    }
    this.lowSlices.clear();
    const draws = [...demands.values()].map(({ total, slice, ...demand }) => {
      const reserve =
        (slice?.twoSecondSpending(elapsed) ?? 0n) +
        (demand.need > 0n ? demand.need * MIN_REQUESTS_PER_DRAW : 0n);
      const want = total + reserve - (slice?.free ?? 0n);
      return { ...demand, want: want > this.options.sliceCap ? this.options.sliceCap : want };
    });
    const headroomOnly = new Map<number, ScopeDrawRequest>();
    for (const ref of queries.flatMap(({ refs }) => refs)) {
      const key = scopeKey(ref);
      if (!demands.has(key)) headroomOnly.set(key, { ref, need: 0n, want: 0n, ...noAmount });
    }
    return [...draws, ...headroomOnly.values()];
  }

  private apply(ref: LimitRef, request: ScopeDrawRequest, drawn: DrawResult, startedAt: number): void {
    const elapsed = this.clock.elapsedMs();
    this.clock.synchronise(drawn.now, startedAt);
    const previous = this.registry.at(scopeKey(ref));
    const slice = this.registry.open(ref, drawn.window, elapsed);
    if (previous !== undefined && previous !== slice) void this.handBack(() => this.portionsOf([previous]));
    slice.applyDraw(drawn);
    slice.lastDrawAt = startedAt;
    if (slice.isOverdrawn && slice.free > 0n) void this.handBack(() => this.portionsOf([slice]));
    if (request.need <= 0n && request.want <= 0n) return;
    const isShort = drawn.window !== null && (drawn.granted === null || drawn.granted === 0n);
    if (isShort) slice.refusedAmount = request.amount;
    // A smaller hold that fits does not mean that there is enough for larger ones.
    const isStillShort = request.isCapped && slice.retryAt > elapsed;
    if (!isStillShort) slice.retryAt = isShort ? elapsed + this.options.retryMs : 0;
    slice.lowWater = isShort ? 0n : slice.free / 4n;
  }

  /** Refuses requests that need more than the window will ever have left. */
  private refuseUnaffordable(answeredScopes: ReadonlySet<number>): void {
    this.line.resolveEach((waiter) => {
      const { request } = waiter;
      const refs = request.refs.filter((ref) => answeredScopes.has(scopeKey(ref)));
      // A limit that changed meanwhile is drawn again first; otherwise a later scope would be blamed instead.
      const isComplete = refs.every((ref) => this.registry.at(scopeKey(ref)) !== undefined);
      return isComplete ? this.unaffordable(refs, minAmountOf(request)) : undefined;
    });
  }

  private unaffordable(refs: readonly LimitRef[], amount: Nano): Fault | undefined {
    for (const ref of refs) {
      const slice = this.registry.at(scopeKey(ref));
      if (slice?.window && !slice.covers(amount) && slice.spendable < amount) {
        return exhaustedFault(ref, amount, slice.spendable, slice.resetsAt);
      }
    }
    return undefined;
  }

  /** Delays the next draw ahead of need while the database is unreachable. */
  private postpone(requests: readonly DrawRequest[]): void {
    for (const request of requests) {
      const slice = this.registry.at(scopeKey(request.ref));
      if (slice === undefined || request.need > 0n) continue;
      slice.retryAt = this.clock.elapsedMs() + 1_000;
      slice.lowWater = slice.free / 2n;
    }
  }

  /** Retries on a timer, in case a notification that would wake the waiters is lost. */
  private scheduleRetry(): void {
    if (this.isStopped || this.line.length === 0 || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.serve();
    }, this.options.retryMs);
  }
}
