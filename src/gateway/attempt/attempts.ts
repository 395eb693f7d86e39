import type { AttemptRecord } from '../../audit';
import { type ErrorCode, type Fault, monotonicMs, underlyingCause } from '../../kernel';
import { isAccountSpent } from '../../protocol';
import type { LanePermit, PlannedLane } from '../../routing';
import { type RoutedCall, withheld } from '../admission';
import type { AttemptTools } from './attempt-tools';
import { exhausted } from './exhausted';
import { isCredentialRefused, type Judgement } from './judge';
import type { AnswerReader, LaneAnswer, LaneTry, StreamOf } from './lane-answer';
import { blameOf } from './lane-blame';
import { LaneCall, type Tried } from './lane-call';
import { lanesIn, LaneTurns, MOST_LANES, recordOf } from './lane-turns';
import { ProbeWait } from './probe-wait';
import { SameLane } from './same-lane';
import { gateRequestOf } from '../intake';
import type { AskedContent } from '../trace/call-content';
import type { AskedOfLane } from '../trace/lane-span';
import type { RequestTrace } from '../trace/request-trace';

const unasked: ReadonlySet<ErrorCode> = new Set(['capacity_exceeded', 'no_providers_available']);

/**
 * Sends a request to its lanes in turn until one answers. Failover happens only before the caller has a part of the
 * answer, over at most three lanes and within the retry budget. A lane with `retries` is first asked again itself.
 * Every try is recorded.
 */
export class Attempts {
  /** The try that is under way, or the last one. */
  current: LaneCall | null = null;
  /** The lane that was answering when the caller left or the key ended. */
  abandoned: LaneTry | null = null;
  /** The try before, if it failed. */
  private failed: { readonly route: PlannedLane; readonly tried: Judgement } | null = null;
  private readonly startedMs = monotonicMs();
  private readonly keyId: number;
  private readonly records: AttemptRecord[];
  private readonly trace: RequestTrace | null;
  private readonly turns: LaneTurns;
  private sameLane: SameLane | null = null;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    private readonly answers: AnswerReader,
    /** Every try for this request, of an earlier model too, and what telemetry hears of it. */
    { tries, trace }: { readonly tries: AttemptRecord[]; readonly trace: RequestTrace | null },
  ) {
    this.records = tries;
    this.trace = trace;
    this.keyId = routed.call.inbound.caller.keyId;
    this.turns = new LaneTurns(routed, tools, tries, this.startedMs);
  }

  /** The caller left, the key ended, or the service stops: the request needs no answer any more. */
  get stopped(): boolean {
    return this.routed.work.stopped !== null;
  }

  /** This says whether lanes of another model could be tried. */
  get mayGoOn(): boolean {
    return !this.stopped && lanesIn(this.records) < MOST_LANES;
  }

  /** This says whether another lane could be tried. */
  get hasMore(): boolean {
    return this.turns.hasMore;
  }

  /** `continued` reads a stream that is to go on where an earlier one broke off. */
  async answer(continued: StreamOf | null = null): Promise<LaneAnswer> {
    const { routed, turns } = this;
    const outcomes: Judgement[] = [];
    let probes: ProbeWait | null = null;
    do {
      for (let route = turns.next(outcomes); route !== null; route = turns.next(outcomes)) {
        let outcome: Judgement | null = null;
        /** The reasoning with which the lane refused the request. */
        let refused: readonly string[] | null = null;
        let permit = turns.acquire(route, monotonicMs());
        while (permit !== null) {
          const call = this.begin(route, { permit, continued, withoutReasoning: refused !== null });
          const startedMs = monotonicMs();
          const tried = this.ended(call, await call.run(), startedMs);
          if (tried.kind === 'answered') {
            if (refused !== null) this.tools.owners.disown(refused);
            return tried.answer;
          }
          if (await call.mayBeMended(tried)) {
            refused = call.shown;
            permit = turns.acquire(route, monotonicMs());
            if (permit !== null) continue;
          }
          // A caller's mistake would fail on every lane, unless only a backup complains.
          if (tried.kind === 'refused' && isOfEveryLane(tried) && outcomes.length === 0) throw tried.problem;
          outcome = tried;
          permit = await this.again(route, tried);
        }
        if (outcome !== null && !isOvertaken(outcome)) outcomes.push(outcome);
      }
      turns.restart();
      probes ??= new ProbeWait(routed, this.tools.health);
      // Where every lane rests, the request waits for the probe that tests one.
    } while (outcomes.length === 0 && (await probes.succeeded()));
    if (routed.work.stopped !== null) throw routed.work.stopped;
    if (routed.withheldBy !== null) throw withheld(routed.call, routed.withheldBy);
    throw exhausted(outcomes, routed.plan, this.tools.health, this.keyId);
  }

  /** A streamed answer is complete. */
  done({ permit }: LaneAnswer): void {
    permit.succeeded(monotonicMs());
  }

  /** The last lane's answer broke off in the middle. */
  broke(answer: LaneAnswer, problem: Fault): void {
    const { permit, status } = answer;
    const record = this.records.at(-1);
    if (record !== undefined) this.records[this.records.length - 1] = { ...record, outcome: problem.outcome };
    this.trace?.moved(problem);
    if (this.stopped) return;
    this.log('stream failed', answer.route, { status, problem });
    const failure = { status: null, problem, milliseconds: 0 };
    permit.failed(monotonicMs(), { ...blameOf(this.routed.call.inbound, failure), status });
  }

  private begin(
    route: PlannedLane,
    {
      permit,
      continued,
      withoutReasoning,
    }: { permit: LanePermit; continued: StreamOf | null; withoutReasoning: boolean },
  ): LaneCall {
    if (this.failed !== null) this.logMove(this.failed, route);
    const failover = this.turns.isFailover(route);
    const { call } = this.routed;
    const span = this.trace?.asked(route.lane, askedOf(call), contentOf(call)) ?? null;
    const lane = { routed: this.routed, route, permit, failover, withoutReasoning, span };
    return (this.current = new LaneCall(lane, this.answers, continued, this.turns, this.tools));
  }

  /** Records the outcome of a try. Throws where the request was stopped meanwhile. */
  private ended(call: LaneCall, tried: Tried, startedMs: number): Tried {
    const { work } = this.routed;
    const { route } = call.lane;
    const now = monotonicMs();
    if (!isUnasked(tried)) this.records.push(recordOf(route, tried, now - startedMs));
    if (this.trace !== null) this.tell(this.trace, call, tried);
    this.note(call, tried, { startedMs, endedMs: now });
    if (tried.kind === 'answered') this.tools.health.began(route.lane, now - startedMs, now);
    else this.failed = { route, tried };
    const isWhole = tried.kind === 'answered' && tried.answer.whole !== null;
    // A whole answer counts, also for a caller who has left.
    if (work.stopped !== null && !isWhole) {
      if (!work.stoppedByService && call.begun) this.abandoned = call.lane;
      throw work.stopped;
    }
    return tried;
  }

  /** A stream goes on; what is whole, or failed, has ended. */
  private tell(trace: RequestTrace, { lane: { span } }: LaneCall, tried: Tried): void {
    if (tried.kind === 'answered') {
      const { whole } = tried.answer;
      if (whole !== null) span?.ended(whole);
      return;
    }
    const { status, problem } = tried;
    trace.moved(problem);
    span?.ended({ status, problem, usage: null, finishReason: null, isUnasked: isUnasked(tried) });
  }

  private again(route: PlannedLane, tried: Tried): Promise<LanePermit | null> | null {
    if (route.lane.retries === 0) return null;
    this.sameLane ??= new SameLane(this.routed, this.tools, this.startedMs);
    return this.sameLane.again(route, tried);
  }

  /** Logs one line for every failover and every repeated try. */
  private logMove({ route, tried }: { route: PlannedLane; tried: Judgement }, { lane }: PlannedLane): void {
    this.log(route.lane === lane ? 'retry on the same lane' : 'failover', route, tried, {
      to_provider: lane.provider.name,
      to_model: lane.upstreamModel,
      to_region: lane.region,
    });
  }

  private log(
    event: string,
    { lane: from }: PlannedLane,
    { status, problem }: Pick<Judgement, 'status' | 'problem'>,
    more: object = {},
  ): void {
    const { call } = this.routed;
    this.tools.logger.warn(event, {
      request_id: call.inbound.requestId,
      client_request_id: call.inbound.clientRequestId ?? undefined,
      key_id: this.keyId,
      asked_model: call.model,
      provider: from.provider.name,
      model: from.upstreamModel,
      region: from.region,
      status,
      code: problem.code,
      cause: underlyingCause(problem),
      ...more,
    });
  }

  private note(
    { lane: { route, permit }, isContinuation }: LaneCall,
    tried: Tried,
    { startedMs, endedMs: now }: { readonly startedMs: number; readonly endedMs: number },
  ): void {
    const { lane } = route;
    if (this.stopped || tried.kind === 'refused') return permit.neutral();
    if (tried.kind === 'answered') {
      this.tools.credentials.accepted(lane);
      permit.answering(now);
      if (tried.answer.stream === null) permit.succeeded(now);
      return;
    }
    const { problem, status, pauseMs } = tried;
    if (isCredentialRefused(tried)) this.tools.credentials.refused(lane, status, problem);
    if (pauseMs > 0) permit.pause(now, pauseMs, problem);
    if (isAccountSpent(problem)) permit.spent(now);
    // A supplier that names a time to come back is healthy; no probe is needed.
    else if (pauseMs > 0 && problem.code === 'supplier_limit') permit.neutral();
    // So is one that was not even asked.
    else if (unasked.has(problem.code)) permit.neutral();
    // A different answer is not the lane's fault either.
    else if (isContinuation && problem.code === 'stream_interrupted') permit.neutral();
    else
      permit.failed(
        now,
        blameOf(this.routed.call.inbound, { problem, status, milliseconds: now - startedMs }),
      );
  }
}

const askedOf = (call: RoutedCall['call']): AskedOfLane => ({
  stream: call.stream,
  choices: call.choices,
  maxOutputTokens: call.operation.limitFields.length === 0 ? null : call.maxOutputTokens,
  effort: call.needs.effort,
  body: call.inbound.body,
  hasMedia: call.measure !== null && call.measure.mediaBytes > 0,
});

/** Null unless the caller's organisation lets spans hold it. */
const contentOf = (call: RoutedCall['call']): AskedContent | null =>
  call.inbound.caller.tellsContent === true
    ? { body: call.inbound.body, choices: call.choices, texts: () => gateRequestOf(call).texts }
    : null;

/** Services check bodies by rules of their own and say so with 422: another may take what this one does not. */
const isOfEveryLane = (tried: Judgement): boolean =>
  !isUnasked(tried) && !(tried.status === 422 && tried.problem.code === 'invalid_request');

/** The lane could not be given the request at all, or opened while the request waited for a connection. */
const isUnasked = (tried: Tried): boolean =>
  (tried.kind === 'refused' && tried.status === null) || isOvertaken(tried);

const isOvertaken = (tried: Tried): boolean =>
  tried.kind === 'failed' && tried.problem.code === 'no_providers_available';
