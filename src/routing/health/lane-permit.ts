import type { Fault } from '../../kernel';
import type { Breaker, Ticket } from './breaker';
import type { LaneEvents } from './lane-events';
import type { LaneFailure } from './lane-facts';
import type { WatchedLane } from './watched-lane';

/** The right of one request to try a lane. The result of the try is told to it, and to nothing else. */
export class LanePermit {
  /** It is null while the lane rests. As the last one left, it may be tried once a second all the same. */
  static take(
    lane: WatchedLane,
    keyId: number,
    now: number,
    isLast: boolean,
    events: LaneEvents,
  ): LanePermit | null {
    const own = lane.ownOf(keyId);
    const ownTicket = own === undefined ? 0 : ticketOf(own, now, isLast);
    if (ownTicket === null) return null;
    const ticket = ticketOf(lane.breaker, now, isLast);
    const accountTicket = ticket === null ? null : ticketOf(lane.account, now, isLast);
    if (ticket !== null && accountTicket !== null)
      return new LanePermit(lane, keyId, { ticket, accountTicket }, own, ownTicket, events);
    own?.neutral(ownTicket);
    if (ticket !== null) lane.breaker.neutral(ticket);
    return null;
  }

  private readonly ticket: Ticket;
  private readonly accountTicket: Ticket;
  /** It is as it was when this try began: a new credential brings another. */
  private readonly account: Breaker;

  private constructor(
    private readonly lane: WatchedLane,
    private readonly keyId: number,
    { ticket, accountTicket }: { readonly ticket: Ticket; readonly accountTicket: Ticket },
    /** The key's own breaker, where that lane has failed it before. */
    private own: Breaker | undefined,
    private ownTicket: Ticket,
    private readonly events: LaneEvents,
  ) {
    this.ticket = ticket;
    this.accountTicket = accountTicket;
    this.account = lane.account;
  }

  /** The lane opened since, be it for this key alone, and this is not the request that finds out whether it is well. */
  isOvertaken(now: number): boolean {
    const isProbe = this.ticket !== 0 || this.ownTicket !== 0 || this.accountTicket !== 0;
    return !isProbe && this.lane.stateFor(this.keyId, now) === 'open';
  }

  /** An answer has begun. */
  answering(now: number): void {
    const { breaker } = this.lane;
    const wasClosed = breaker.isClosed;
    breaker.answering(this.ticket);
    this.account.answering(this.accountTicket);
    this.own?.answering(this.ownTicket);
    if (!wasClosed && breaker.isClosed) this.events.closed(this.lane.route, now);
  }

  /** An answer is whole. */
  succeeded(now: number): void {
    this.lane.breaker.success(now);
    this.account.success(now);
    this.lane.failedOwners.clear();
    this.own?.success(now);
    if (this.own?.isClosed === true) this.lane.own.delete(this.keyId);
  }

  /** The call failed, before its answer began or in the middle of it. */
  failed(now: number, failure: LaneFailure): void {
    const { breaker } = this.lane;
    const wasClosed = breaker.isClosed;
    this.account.neutral(this.accountTicket);
    if (failure.isCallerMayBeCause) this.failedForKey(now, failure);
    else {
      breaker.failure(now, this.ticket, failure.milliseconds);
      this.own?.neutral(this.ownTicket);
    }
    if (wasClosed && !breaker.isClosed) this.events.opened(this.lane.route, now, failure);
  }

  /** The call ended without saying anything about the lane: a client's error, or a caller that left. */
  neutral(): void {
    this.account.neutral(this.accountTicket);
    this.lane.breaker.neutral(this.ticket);
    this.own?.neutral(this.ownTicket);
  }

  /** Our account at the supplier is spent or closed: every lane of it rests, and none of them is to blame. */
  spent(now: number): void {
    this.account.failure(now, this.accountTicket);
    this.lane.breaker.neutral(this.ticket);
    this.own?.neutral(this.ownTicket);
  }

  /** The supplier asked to be left alone. */
  pause(now: number, milliseconds: number, problem: Fault): void {
    const { breaker } = this.lane;
    if (!breaker.isPaused(now)) this.events.paused(this.lane.route, milliseconds, problem);
    breaker.pause(now + milliseconds);
  }

  /** One key's bad requests close the lane to that key; those of several owners are the lane's. */
  private failedForKey(now: number, failure: LaneFailure): void {
    this.own ??= this.lane.breakerFor(this.keyId);
    const wasClosed = this.own.isClosed;
    this.own.failure(now, this.ownTicket, failure.milliseconds);
    if (wasClosed && !this.own.isClosed) this.events.openedForKey(this.lane.route, now, this.keyId, failure);
    if (this.lane.isFirstDoubt(failure.owner))
      this.lane.breaker.failure(now, this.ticket, failure.milliseconds);
    else this.lane.breaker.neutral(this.ticket);
  }
}

const ticketOf = (breaker: Breaker, now: number, isLast: boolean): Ticket | null =>
  breaker.tryAcquire(now) ?? (isLast ? breaker.tryAsLast(now) : null);
