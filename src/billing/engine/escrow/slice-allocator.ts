import { Logger } from '@nestjs/common';
import type { Fault, Nano } from '../../../kernel';
import { type LimitRef, scopeKey } from '../../scope';
import { type Ask, type Drawn, LeaseGone, type Portion } from '../store/money-store';
import type { DatabaseClock } from '../../../platform';
import { type Hold, type HoldRequest, leastOf } from './hold';
import type { NodeLease } from './node-lease';
import { cannotCheck, spent } from './refusal';
import type { Slice } from './slice';
import type { SliceBook } from './slice-book';
import type { WaitingLine } from './waiting-line';

export interface SliceAllocatorOptions {
  /** The most a slice is filled up to, however much is left. */
  readonly sliceCap: Nano;
  /** The fallback poll in case an announcement is lost. */
  readonly askAgainMs: number;
  /** A recall is in force for so long, and is answered within it. */
  readonly recallMs: number;
  readonly handBackMs: number;
}

/** This is asked for in one scope, for the first who waits there. */
interface ScopeAsk extends Ask {
  readonly amount: Nano;
  /** Less than it asked for, since that was not left. */
  readonly isCapped: boolean;
}

/** A request that asks for the largest possible hold. It shares a draw like any other. */
interface Question {
  readonly refs: readonly LimitRef[];
  readonly resolve: (headroom: Nano) => void;
  readonly reject: (refusal: Fault) => void;
}

interface Need extends Omit<ScopeAsk, 'want'> {
  total: Nano;
  readonly slice: Slice | undefined;
}

const nothingNeeded = { amount: 0n, isCapped: false };

/** The database has just said that it has not so much; less may still be asked for. */
const isKnownShort = ({ askAgainAt, shortOf }: Slice, amount: Nano, elapsed: number): boolean =>
  askAgainAt > elapsed && amount >= shortOf;

const isToBeAsked = (slice: Slice | undefined, amount: Nano, elapsed: number): boolean =>
  slice === undefined || !(slice.covers(amount) || isKnownShort(slice, amount, elapsed));

/** The headroom of scopes without a limit. */
export const UNLIMITED: Nano = 2n ** 62n;

/** A slice is filled for at least this many requests of the size that asks. */
const fewRequests = 8n;

/** Draws money for waiting requests, and hands back money that other nodes need more. */
export class SliceAllocator {
  private readonly logger = new Logger(SliceAllocator.name);
  private drawing = false;
  private timer: NodeJS.Timeout | undefined;
  private handingBack: NodeJS.Timeout | undefined;
  private readonly lowSlices = new Set<Slice>();
  /** The limits of these scopes changed while a draw was on its way. */
  private readonly changed = new Set<number>();
  private questions: Question[] = [];
  /** The outcome of the last draw. */
  lastDraw: 'on its way' | 'answered' | 'failed' = 'answered';
  private stopped = false;

  constructor(
    private readonly options: SliceAllocatorOptions,
    private readonly clock: DatabaseClock,
    private readonly book: SliceBook,
    private readonly line: WaitingLine,
    private readonly lease: NodeLease,
    private readonly place: (request: HoldRequest, amount: Nano) => Hold | undefined,
  ) {}

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.handingBack);
    this.timer = this.handingBack = undefined;
  }

  /** Serves waiting requests from memory, then draws for the rest. */
  serve(): void {
    this.serveFromSlices();
    void this.draw();
  }

  /** Requests are served in order: none overtakes on a scope that an earlier one is short of. */
  serveFromSlices(): void {
    const short = new Set<number>();
    const now = this.clock.now();
    this.line.answer((waiter) => {
      const { request } = waiter;
      const { refs } = request;
      if (short.size > 0 && refs.some((ref) => short.has(scopeKey(ref)))) return undefined;
      const amount = this.amountFor(request, now);
      const hold = this.place(request, amount);
      if (hold !== undefined) return hold;
      for (const ref of refs) {
        if (this.book.current(ref, now)?.covers(amount) !== true) short.add(scopeKey(ref));
      }
      return undefined;
    });
  }

  /**
   * The request gets all that it asks for, unless a draw has just said that so much is not left. Then those
   * who wait share the rest, and a request that cannot do with less gets what it asks for or nothing.
   */
  private amountFor(request: HoldRequest, now: number): Nano {
    const least = leastOf(request);
    let fits = request.amount;
    if (least === fits) return fits;
    const elapsed = this.clock.elapsedMs();
    for (const ref of request.refs) {
      const slice = this.book.current(ref, now);
      if (slice === undefined || slice.window === null || slice.askAgainAt <= elapsed) continue;
      const waiting = BigInt(Math.max(1, this.line.countFor(slice.key)));
      const share = (slice.usable + slice.poolLeft) / waiting;
      if (share < fits) fits = share;
    }
    return fits > least ? fits : least;
  }

  /** The next draw asks for it, and no draw that began since then has: what was answered was not about it. */
  isUnheard(request: HoldRequest, since: number): boolean {
    const now = this.clock.now();
    const amount = this.amountFor(request, now);
    const elapsed = this.clock.elapsedMs();
    return request.refs.some((ref) => {
      const slice = this.book.current(ref, now);
      return isToBeAsked(slice, amount, elapsed) && !(slice !== undefined && slice.heardAt >= since);
    });
  }

  topUp(slice: Slice): void {
    this.lowSlices.add(slice);
    void this.draw();
  }

  /** The most that could be held in all of the scopes now. */
  headroom(refs: readonly LimitRef[]): Promise<Nano> {
    return new Promise((resolve, reject) => {
      this.questions.push({ refs, resolve, reject });
      void this.draw();
    });
  }

  /** Another node starves: from now on, and for a while, money that becomes free here goes to it. */
  recalled(windowId: string, byLease: string): void {
    const slice = this.book.ofWindow(windowId);
    if (slice === undefined) return;
    slice.recalledUntil = this.clock.elapsedMs() + this.options.recallMs;
    slice.yields = byLease < this.lease.id;
    this.spare(slice);
  }

  /** Another node handed something back. */
  returned(windowId: string): void {
    const slice = this.book.ofWindow(windowId);
    if (slice === undefined || !this.line.waitsFor(slice.key)) return;
    slice.askAgainAt = 0;
    void this.draw();
  }

  /** The scope's rule or limit changed: what it allows has to be drawn anew. */
  limitChanged(ref: LimitRef): void {
    const key = scopeKey(ref);
    if (this.drawing) this.changed.add(key);
    const slice = this.book.retire(key);
    if (slice?.window) void this.handBack(() => this.portionsOf([slice]));
    if (this.line.waitsFor(key)) void this.draw();
  }

  /** Hands back what became free in a recalled or retired slice, unless a request here can use it soon. */
  spare(slice: Slice): void {
    if (this.stopped || slice.lapsed || this.handingBack !== undefined) return;
    if (!this.mayGo(slice)) return;
    this.handingBack = setTimeout(() => {
      this.handingBack = undefined;
      void this.handBack(() => this.portionsOf([...this.book.all()].filter((each) => this.mayGo(each))));
    }, this.options.handBackMs);
  }

  /** Keeps what two seconds may need; a slice that is no longer used goes back whole and is forgotten. */
  async handBackUnused(unusedMs: number): Promise<void> {
    const elapsed = this.clock.elapsedMs();
    const unused = (slice: Slice): boolean =>
      !this.book.isCurrent(slice) || elapsed - slice.lastUsedAt > unusedMs || this.hasEnded(slice);
    await this.handBack(() =>
      this.portionsOf([...this.book.all()], (slice) => (unused(slice) ? 0n : slice.twoSeconds(elapsed) * 2n)),
    );
    for (const slice of [...this.book.all()]) if (unused(slice) && slice.drawn === 0n) this.book.drop(slice);
  }

  private hasEnded({ window }: Slice): boolean {
    return window !== null && window.endsAt <= this.clock.now();
  }

  private async handBack(collect: () => Portion[]): Promise<void> {
    try {
      await this.lease.giveBack(collect);
    } catch (error) {
      if (!(error instanceof LeaseGone)) this.logger.warn(`Handing back failed: ${String(error)}`);
    }
  }

  private portionsOf(slices: Iterable<Slice>, keep: (slice: Slice) => Nano = () => 0n): Portion[] {
    const portions: Portion[] = [];
    for (const slice of slices) {
      if (slice.window === null || slice.lapsed) continue;
      const amount = slice.empty(keep(slice));
      if (amount > 0n) portions.push({ windowId: slice.window.id, amount });
    }
    return portions;
  }

  /**
   * Tie-break: where both nodes have waiting requests, remainders too small for either gather at one of them. That is
   * the other node, unless the order of the leases favours this one and more is about to become free here.
   */
  private mayGo(slice: Slice): boolean {
    if (slice.free <= 0n) return false;
    if (slice.isRetired) return true;
    if (slice.recalledUntil < this.clock.elapsedMs()) return false;
    return slice.yields || slice.held === 0n || !this.line.waitsFor(slice.key);
  }

  /** At most one draw is in flight; requests that arrive meanwhile share the next one. */
  private async draw(): Promise<void> {
    if (this.drawing) return;
    this.drawing = true;
    try {
      while (this.lease.begun && !this.stopped) {
        const questions = this.questions.splice(0);
        const asks = this.asks(questions);
        if (asks.length === 0 && questions.length === 0) break;
        await this.drawOnce(asks, questions);
      }
    } finally {
      this.drawing = false;
      this.wakeLater();
      for (const { reject } of this.questions.splice(0)) reject(cannotCheck());
    }
  }

  private async drawOnce(asks: ScopeAsk[], questions: readonly Question[]): Promise<void> {
    const askedAt = this.clock.elapsedMs();
    const poolLeft = new Map<number, Nano>();
    this.lastDraw = 'on its way';
    try {
      await this.lease.draw(asks, (drawn) => {
        drawn.forEach((answer, place) => {
          const ask = asks[place]!;
          this.apply(ask.ref, ask, answer, askedAt);
          if (answer.window !== null) poolLeft.set(scopeKey(ask.ref), answer.poolLeft);
        });
        for (const { refs, resolve } of questions) resolve(this.headroomOf(refs, poolLeft));
        for (const key of this.changed) this.book.retire(key);
        this.changed.clear();
      });
      this.lastDraw = 'answered';
      this.refuseUnaffordable(new Set(asks.map((ask) => scopeKey(ask.ref))));
      this.serveFromSlices();
    } catch (error) {
      this.lastDraw = 'failed';
      for (const { reject } of questions) reject(cannotCheck(error));
      if (error instanceof LeaseGone) return;
      this.postpone(asks);
      const keys = new Set(asks.map((ask) => scopeKey(ask.ref)));
      this.line.answer((waiter) =>
        waiter.request.refs.some((ref) => keys.has(scopeKey(ref))) ? cannotCheck(error) : undefined,
      );
    }
    this.line.expire();
  }

  private headroomOf(refs: readonly LimitRef[], poolLeft: ReadonlyMap<number, Nano>): Nano {
    let most = UNLIMITED;
    for (const ref of refs) {
      const pool = poolLeft.get(scopeKey(ref));
      if (pool === undefined) continue;
      const free = this.book.at(scopeKey(ref))?.free ?? 0n;
      const within = pool > 0n ? pool + free : free;
      if (within < most) most = within;
    }
    return most;
  }

  /** One ask a scope: enough for the first who waits, and if there is plenty, for all and the next two seconds. */
  private asks(questions: readonly Question[]): ScopeAsk[] {
    const elapsed = this.clock.elapsedMs();
    const now = this.clock.now();
    const asks = new Map<number, Need>();
    for (const { request } of this.line) {
      const amount = this.amountFor(request, now);
      for (const ref of request.refs) {
        const key = scopeKey(ref);
        const ask = asks.get(key);
        if (ask !== undefined) {
          ask.total += amount;
          continue;
        }
        const slice = this.book.current(ref, now);
        if (!isToBeAsked(slice, amount, elapsed)) continue;
        const need = amount - (slice?.usable ?? 0n);
        asks.set(key, { ref, need, total: amount, slice, amount, isCapped: amount < request.amount });
      }
    }
    for (const slice of this.lowSlices) {
      if (!this.book.isCurrent(slice) || asks.has(slice.key) || slice.askAgainAt > elapsed) continue;
      asks.set(slice.key, { ref: slice.ref, need: 0n, total: 0n, slice, ...nothingNeeded });
    }
    this.lowSlices.clear();
    const drawing = [...asks.values()].map(({ total, slice, ...ask }) => {
      const comfort = (slice?.twoSeconds(elapsed) ?? 0n) + (ask.need > 0n ? ask.need * fewRequests : 0n);
      const want = total + comfort - (slice?.free ?? 0n);
      return { ...ask, want: want > this.options.sliceCap ? this.options.sliceCap : want };
    });
    const looking = new Map<number, ScopeAsk>();
    for (const ref of questions.flatMap(({ refs }) => refs)) {
      const key = scopeKey(ref);
      if (!asks.has(key)) looking.set(key, { ref, need: 0n, want: 0n, ...nothingNeeded });
    }
    return [...drawing, ...looking.values()];
  }

  private apply(ref: LimitRef, ask: ScopeAsk, drawn: Drawn, askedAt: number): void {
    const elapsed = this.clock.elapsedMs();
    this.clock.synchronise(drawn.now, askedAt);
    const before = this.book.at(scopeKey(ref));
    const slice = this.book.open(ref, drawn.window, elapsed);
    if (before !== undefined && before !== slice) void this.handBack(() => this.portionsOf([before]));
    slice.applyDraw(drawn);
    slice.heardAt = askedAt;
    if (slice.overdrawn && slice.free > 0n) void this.handBack(() => this.portionsOf([slice]));
    if (ask.need <= 0n && ask.want <= 0n) return;
    const short = drawn.window !== null && (drawn.granted === null || drawn.granted === 0n);
    if (short) slice.shortOf = ask.amount;
    // A smaller hold fits: that does not make enough of it for larger ones.
    const staysShort = ask.isCapped && slice.askAgainAt > elapsed;
    if (!staysShort) slice.askAgainAt = short ? elapsed + this.options.askAgainMs : 0;
    slice.lowWater = short ? 0n : slice.free / 4n;
  }

  /** A request that needs more than will ever be left in the window is refused at once. */
  private refuseUnaffordable(heard: ReadonlySet<number>): void {
    this.line.answer((waiter) => {
      const { request } = waiter;
      const refs = request.refs.filter((ref) => heard.has(scopeKey(ref)));
      // A limit that changed meanwhile is asked for anew: until then a later one would be blamed in its place.
      const isKnown = refs.every((ref) => this.book.at(scopeKey(ref)) !== undefined);
      return isKnown ? this.unaffordable(refs, leastOf(request)) : undefined;
    });
  }

  private unaffordable(refs: readonly LimitRef[], amount: Nano): Fault | undefined {
    for (const ref of refs) {
      const slice = this.book.at(scopeKey(ref));
      if (slice?.window && !slice.covers(amount) && slice.spendable < amount) {
        return spent(ref, amount, slice.spendable, slice.resetsAt);
      }
    }
    return undefined;
  }

  /** An unreachable database is not asked again at once for a draw ahead of need. */
  private postpone(asks: readonly Ask[]): void {
    for (const ask of asks) {
      const slice = this.book.at(scopeKey(ask.ref));
      if (slice === undefined || ask.need > 0n) continue;
      slice.askAgainAt = this.clock.elapsedMs() + 1_000;
      slice.lowWater = slice.free / 2n;
    }
  }

  /** Announcements wake those who wait; should one be lost, this timer does. */
  private wakeLater(): void {
    if (this.stopped || this.line.length === 0 || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.serve();
    }, this.options.askAgainMs);
  }
}
