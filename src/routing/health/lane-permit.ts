import type { Fault } from '../../kernel';
import type { Breaker, Ticket } from './breaker';
import type { LaneEvents } from './lane-events';
import type { LaneFailure } from './lane-types';
import type { WatchedLane } from './watched-lane';

export class LanePermit {
  /** Null while the lane is open. As the only remaining lane, it can be tried once per second. */
  static take(
    lane: WatchedLane,
    keyId: number,
    now: number,
    isLast: boolean,
    events: LaneEvents,
  ): LanePermit | null {
    const keyBreaker = lane.keyBreakerOf(keyId);
    const keyTicket = keyBreaker === undefined ? 0 : ticketOf(keyBreaker, now, isLast);
    if (keyTicket === null) return null;
    const ticket = ticketOf(lane.breaker, now, isLast);
    const accountTicket = ticket === null ? null : ticketOf(lane.account, now, isLast);
    if (ticket !== null && accountTicket !== null)
      return new LanePermit(lane, keyId, { ticket, accountTicket }, keyBreaker, keyTicket, events);
    keyBreaker?.neutral(keyTicket);
    if (ticket !== null) lane.breaker.neutral(ticket);
    return null;
  }

  private readonly ticket: Ticket;
  private readonly accountTicket: Ticket;
  /** The account at the start of this attempt; a new credential has another. */
  private readonly account: Breaker;

  private constructor(
    private readonly lane: WatchedLane,
    private readonly keyId: number,
    { ticket, accountTicket }: { readonly ticket: Ticket; readonly accountTicket: Ticket },
    /** The key's breaker, if the lane has failed for this key before. */
    private keyBreaker: Breaker | undefined,
    private keyTicket: Ticket,
    private readonly events: LaneEvents,
  ) {
    this.ticket = ticket;
    this.accountTicket = accountTicket;
    this.account = lane.account;
  }

  /** Whether the lane has opened since, at least for this key, and this request is not its probe. */
  isOutdated(now: number): boolean {
    const isProbe = this.ticket !== 0 || this.keyTicket !== 0 || this.accountTicket !== 0;
    return !isProbe && this.lane.stateFor(this.keyId, now) === 'open';
  }

  responseStarted(now: number): void {
    const { breaker } = this.lane;
    const wasClosed = breaker.isClosed;
    breaker.responseStarted(this.ticket);
    this.account.responseStarted(this.accountTicket);
    this.keyBreaker?.responseStarted(this.keyTicket);
    if (!wasClosed && breaker.isClosed) this.events.closed(this.lane.route, now);
  }

  succeeded(now: number): void {
    this.lane.breaker.success(now);
    this.account.success(now);
    this.lane.failedOwners.clear();
    this.keyBreaker?.success(now);
    if (this.keyBreaker?.isClosed === true) this.lane.keyBreakers.delete(this.keyId);
  }

  failed(now: number, failure: LaneFailure): void {
    const { breaker } = this.lane;
    const wasClosed = breaker.isClosed;
    this.account.neutral(this.accountTicket);
    if (failure.isCallerMayBeCause) this.failedForKey(now, failure);
    else {
      breaker.failure(now, this.ticket, failure.milliseconds);
      this.keyBreaker?.neutral(this.keyTicket);
    }
    if (wasClosed && !breaker.isClosed) this.events.opened(this.lane.route, now, failure);
  }

  /** The call ended without a result for the lane: a client error or a disconnected caller. */
  neutral(): void {
    this.account.neutral(this.accountTicket);
    this.lane.breaker.neutral(this.ticket);
    this.keyBreaker?.neutral(this.keyTicket);
  }

  /** The operator's account is spent or closed: opens all its lanes without blaming any of them. */
  accountSpent(now: number): void {
    this.account.failure(now, this.accountTicket);
    this.lane.breaker.neutral(this.ticket);
    this.keyBreaker?.neutral(this.keyTicket);
  }

  pause(now: number, milliseconds: number, problem: Fault): void {
    const { breaker } = this.lane;
    if (!breaker.isPaused(now)) this.events.paused(this.lane.route, milliseconds, problem);
    breaker.pause(now + milliseconds);
  }

  /** Invalid requests of one key open the lane for that key; those of several owners count against the lane. */
  private failedForKey(now: number, failure: LaneFailure): void {
    this.keyBreaker ??= this.lane.breakerFor(this.keyId);
    const wasClosed = this.keyBreaker.isClosed;
    this.keyBreaker.failure(now, this.keyTicket, failure.milliseconds);
    if (wasClosed && !this.keyBreaker.isClosed)
      this.events.openedForKey(this.lane.route, now, this.keyId, failure);
    if (this.lane.addFailedOwner(failure.owner))
      this.lane.breaker.failure(now, this.ticket, failure.milliseconds);
    else this.lane.breaker.neutral(this.ticket);
  }
}

const ticketOf = (breaker: Breaker, now: number, isLast: boolean): Ticket | null =>
  breaker.tryAcquire(now) ?? (isLast ? breaker.tryAsLast(now) : null);
