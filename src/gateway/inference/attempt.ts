import type { AttemptRecord } from '../../audit';
import { type ErrorCode, type Fault, monotonicMs, underlyingCause } from '../../kernel';
import type { LanePermit, PlannedLane } from '../../routing';
import type { Answered, Sending } from './answered';
import { isOfLane, lanesIn, recordOf } from './attempt-record';
import type { AttemptTools } from './attempt-tools';
import { exhausted } from './exhausted';
import { isCredentialRefused, type Judgement } from './judge';
import { blameOf } from './lane-blame';
import { LaneCall, type LaneTry, type StreamOf, type Tried } from './lane-call';
import { ProbeWait } from './probe-wait';
import { SameLane } from './same-lane';
import { laneStream } from './stream/lane-stream-of';

const MOST_LANES = 3;
const unasked: ReadonlySet<ErrorCode> = new Set(['capacity_exceeded', 'no_providers_available']);

/**
 * Sends a request down its lanes until one answers. Another lane is tried only while the caller has no part of an
 * answer that the next one could contradict, at most three in all, and only as far as the retry budget of its
 * supplier goes. A lane that says so in the catalogue is first asked again itself. Every try is remembered.
 */
export class Attempts {
  /** The lane that was at work on an answer when the caller left. */
  abandoned: Pick<LaneTry, 'route' | 'failover'> | null = null;
  private next = 0;
  /** The next try is paid for already. */
  private reserved = false;
  /** The try before, if it failed. */
  private failed: { readonly route: PlannedLane; readonly tried: Judgement } | null = null;
  private readonly startedMs = monotonicMs();
  private readonly keyId: number;
  private readonly sameLane: SameLane;

  constructor(
    private readonly sending: Sending,
    private readonly tools: AttemptTools,
    /** Every try for this request, of an earlier model too. */
    private readonly records: AttemptRecord[],
  ) {
    this.keyId = sending.inbound.caller.keyId;
    this.sameLane = new SameLane(sending, tools);
  }

  /** Nobody waits for an answer any more. */
  get stopped(): boolean {
    return this.sending.work.stopped !== null;
  }

  /** Whether another lane could be tried. Healthy ones come first in a plan. */
  get hasMore(): boolean {
    const next = this.sending.plan.lanes[this.next];
    if (next === undefined || next.why === 'open' || lanesIn(this.records) >= MOST_LANES) return false;
    return this.tools.health.budgetOf(next.lane.provider.name).affords(monotonicMs());
  }

  async answer(streamOf: StreamOf = laneStream): Promise<Answered> {
    const { plan, work } = this.sending;
    const outcomes: Judgement[] = [];
    const probes = new ProbeWait(this.sending, this.tools.health);
    do {
      const answered = await this.tryLanes(streamOf, outcomes);
      if (answered !== null) return answered;
      this.next = 0;
      // Where no lane may be tried, the request waits for the one that finds out whether a lane is well again.
    } while (outcomes.length === 0 && (await probes.succeeded()));
    if (work.stopped !== null) throw work.stopped;
    throw exhausted(outcomes, plan, this.tools.health, this.keyId);
  }

  /** A streamed answer has become whole. */
  done({ permit }: Answered): void {
    permit.succeeded(monotonicMs());
  }

  /** The lane that answered last broke off in the middle. */
  broke({ permit, status }: Answered, problem: Fault): void {
    const record = this.records.at(-1);
    if (record !== undefined) this.records[this.records.length - 1] = { ...record, outcome: problem.outcome };
    if (this.stopped) return;
    const failure = { status: null, problem, milliseconds: 0 };
    permit.failed(monotonicMs(), { ...blameOf(this.sending.inbound, failure), status });
  }

  /** Null when none of them answered. */
  private async tryLanes(streamOf: StreamOf, outcomes: Judgement[]): Promise<Answered | null> {
    const { plan } = this.sending;
    while (this.next < plan.lanes.length && this.mayGoOn(outcomes)) {
      const route = plan.lanes[this.next++]!;
      let outcome: Judgement | null = null;
      let permit = this.acquire(route, monotonicMs());
      while (permit !== null) {
        const tried = await this.tryLane(route, permit, streamOf);
        if (tried.kind === 'answered') return tried.answered;
        // The caller's own mistake is one everywhere, unless it is only a backup that minds.
        if (tried.kind === 'refused' && !isUnasked(tried) && outcomes.length === 0) throw tried.problem;
        outcome = tried;
        permit = await this.sameLane.again(route, tried);
      }
      if (outcome !== null) outcomes.push(outcome);
    }
    return null;
  }

  private async tryLane(route: PlannedLane, permit: LanePermit, streamOf: StreamOf): Promise<Tried> {
    const { work } = this.sending;
    const startedMs = monotonicMs();
    const failover = this.isFailover(route);
    const call = new LaneCall(this.sending, this.tools, {
      route,
      permit,
      streamOf,
      failover,
      reserve: () => this.reserve(),
    });
    if (this.failed !== null) this.logMove(this.failed, route);
    const tried = await call.run();
    const endedMs = monotonicMs();
    if (!isUnasked(tried)) this.records.push(recordOf(route, tried, endedMs - startedMs));
    if (tried.kind !== 'answered') this.failed = { route, tried };
    this.note(route, permit, tried, call.isContinuation, { startedMs, endedMs });
    if (tried.kind === 'answered') this.tools.health.began(route.lane, endedMs - startedMs, endedMs);
    const isWhole = tried.kind === 'answered' && tried.answered.whole !== null;
    // An answer that is whole already is one, even when nobody waits for it any more.
    if (work.stopped !== null && !isWhole) {
      if (work.stoppedByCaller && call.begun) this.abandoned = { route, failover };
      throw work.stopped;
    }
    return tried;
  }

  /** Pays for the next try, if there can be one: only then is it worth giving up this one. */
  private reserve(): boolean {
    if (!this.hasMore) return false;
    const { provider } = this.sending.plan.lanes[this.next]!.lane;
    this.reserved ||= this.tools.health.budgetOf(provider.name).spend(monotonicMs());
    return this.reserved;
  }

  /** One who found every lane resting tries one of them, and nobody waits for a third answer that is long in coming. */
  private mayGoOn(outcomes: readonly Judgement[]): boolean {
    if (outcomes.length === 0) return true;
    const { plan } = this.sending;
    const isLate =
      outcomes.length > 1 && monotonicMs() - this.startedMs > this.tools.settings.supplierFirstByteTimeoutMs;
    return lanesIn(this.records) < MOST_LANES && plan.lanes[0]?.why !== 'open' && !isLate;
  }

  /** The right to try a lane: it must not rest, unless all of them do, and a retry has to be affordable. */
  private acquire({ lane }: PlannedLane, now: number): LanePermit | null {
    const { health } = this.tools;
    const { lanes } = this.sending.plan;
    if (lanes[0]?.why === 'open') return health.acquireAsLast(lane, this.keyId, now);
    if (health.stateOf(lane, this.keyId, now) === 'open') return null;
    const isRetry = this.records.length > 0;
    if (isRetry && !this.reserved && !health.budgetOf(lane.provider.name).spend(now)) return null;
    this.reserved = false;
    if (!isRetry) for (const each of lanes) health.budgetOf(each.lane.provider.name).firstTry();
    return health.acquire(lane, this.keyId, now);
  }

  /** Another lane than the first served: that one failed before, or was passed over, be it by a session's habit. */
  private isFailover({ lane }: PlannedLane): boolean {
    return (
      this.records.some((record) => !isOfLane(record, lane)) ||
      this.sending.plan.lanes.some(({ lane: other }) => other.priority < lane.priority)
    );
  }

  /** One line for every move to another lane, and for every lane that is asked again. */
  private logMove(
    { route: { lane: from }, tried }: { route: PlannedLane; tried: Judgement },
    { lane }: PlannedLane,
  ): void {
    const { inbound, call } = this.sending;
    this.tools.logger.warn(from === lane ? 'retry on the same lane' : 'failover', {
      request_id: inbound.requestId,
      key_id: this.keyId,
      asked_model: call.model,
      provider: from.provider.name,
      model: from.upstreamModel,
      region: from.region,
      status: tried.status,
      code: tried.problem.code,
      cause: underlyingCause(tried.problem),
      to_provider: lane.provider.name,
      to_model: lane.upstreamModel,
      to_region: lane.region,
    });
  }

  private note(
    { lane }: PlannedLane,
    permit: LanePermit,
    tried: Tried,
    isContinuation: boolean,
    { startedMs, endedMs: now }: { readonly startedMs: number; readonly endedMs: number },
  ): void {
    if (this.stopped || tried.kind === 'refused') return permit.neutral();
    if (tried.kind === 'answered') {
      this.tools.credentials.accepted(lane);
      permit.answering(now);
      if (tried.answered.opened === null) permit.succeeded(now);
      return;
    }
    const { problem, status, pauseMs } = tried;
    if (isCredentialRefused(tried)) this.tools.credentials.refused(lane, status, problem.code);
    if (pauseMs > 0) permit.pause(now, pauseMs, problem);
    // A supplier that says when to come back is well; nothing has to be found out about it.
    if (pauseMs > 0 && problem.code === 'supplier_limit') permit.neutral();
    // So is one that was not even asked.
    else if (unasked.has(problem.code)) permit.neutral();
    // Nor is another answer than before the fault of the lane.
    else if (isContinuation && problem.code === 'stream_interrupted') permit.neutral();
    else
      permit.failed(now, blameOf(this.sending.inbound, { problem, status, milliseconds: now - startedMs }));
  }
}

/** The lane could not be given the request at all. */
const isUnasked = (tried: Tried): boolean => tried.kind === 'refused' && tried.status === null;
