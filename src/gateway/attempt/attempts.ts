import type { AttemptRecord } from '../../audit';
import { type ErrorCode, type Fault, monotonicMs, underlyingCause } from '../../kernel';
import { isAccountSpent } from '../../protocol';
import type { LanePermit, PlannedLane } from '../../routing';
import { type RoutedCall, withheldFieldError } from '../admission';
import type { AttemptTools } from './attempt-tools';
import { exhaustedError } from './exhausted-error';
import { isCredentialRefused, type FailedAttempt } from './classify-failure';
import type { LaneResponseReader, LaneResponse, LaneAttempt, StreamFactory } from './lane-response';
import { blameOf } from './lane-blame';
import { LaneCall, type AttemptResult } from './lane-call';
import { countLanes, LaneSequence, MAX_LANES, recordOf } from './lane-sequence';
import { ProbeWait } from './probe-wait';
import { SameLaneRetry } from './same-lane-retry';
import { gateRequestOf } from '../intake';
import type { TracedRequest } from '../trace/call-content';
import type { LaneRequestAttributes } from '../trace/lane-span';
import type { RequestTrace } from '../trace/request-trace';

const notCalledCodes: ReadonlySet<ErrorCode> = new Set(['capacity_exceeded', 'no_providers_available']);

/**
 * Sends a request to its lanes in turn until one responds; a lane with `retries` is retried first. Failover stops at
 * the first output, the maximum number of lanes, or an empty retry budget.
 */
export class Attempts {
  current: LaneCall | null = null;
  /** The lane that was responding when the caller left or the key was revoked. */
  abandoned: LaneAttempt | null = null;
  private lastFailure: { readonly route: PlannedLane; readonly tried: FailedAttempt } | null = null;
  private readonly startedMs = monotonicMs();
  private readonly keyId: number;
  private readonly records: AttemptRecord[];
  private readonly trace: RequestTrace | null;
  private readonly turns: LaneSequence;
  private sameLane: SameLaneRetry | null = null;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    private readonly answers: LaneResponseReader,
    { tries, trace }: { readonly tries: AttemptRecord[]; readonly trace: RequestTrace | null },
  ) {
    this.records = tries;
    this.trace = trace;
    this.keyId = routed.call.inbound.caller.keyId;
    this.turns = new LaneSequence(routed, tools, tries, this.startedMs);
  }

  /** True if the request needs no response any more: the caller left, the key was revoked, or the service stops. */
  get stopped(): boolean {
    return this.routed.work.stopped !== null;
  }

  get canTryMore(): boolean {
    return !this.stopped && countLanes(this.records) < MAX_LANES;
  }

  get hasMore(): boolean {
    return this.turns.hasMore;
  }

  /** Runs attempts until a lane responds. `continued` reads a stream that resumes where an earlier one broke off. */
  async run(continued: StreamFactory | null = null): Promise<LaneResponse> {
    const { routed, turns } = this;
    const outcomes: FailedAttempt[] = [];
    let probes: ProbeWait | null = null;
    do {
      for (let route = turns.next(outcomes); route !== null; route = turns.next(outcomes)) {
        let outcome: FailedAttempt | null = null;
        let refusedReasoning: readonly string[] | null = null;
        let permit = turns.acquire(route, monotonicMs());
        while (permit !== null) {
          const call = this.startCall(route, {
            permit,
            continued,
            withoutReasoning: refusedReasoning !== null,
          });
          const startedMs = monotonicMs();
          const result = this.recordResult(call, await call.run(), startedMs);
          if (result.kind === 'answered') {
            if (refusedReasoning !== null) this.tools.owners.disown(refusedReasoning);
            return result.answer;
          }
          if (await call.canRetryWithoutReasoning(result)) {
            refusedReasoning = call.sentReasoning;
            permit = turns.acquire(route, monotonicMs());
            if (permit !== null) continue;
          }
          // A caller's mistake would fail on every lane, unless only a backup lane complains.
          if (result.kind === 'refused' && failsOnEveryLane(result) && outcomes.length === 0)
            throw result.problem;
          outcome = result;
          permit = await this.retryOnSameLane(route, result);
        }
        if (outcome !== null && !wasBreakerOpened(outcome)) outcomes.push(outcome);
      }
      turns.restart();
      probes ??= new ProbeWait(routed, this.tools.health);
      // If all circuit breakers are open, the request waits for a probe.
    } while (outcomes.length === 0 && (await probes.waitForLane()));
    if (routed.work.stopped !== null) throw routed.work.stopped;
    if (routed.withheldBy !== null) throw withheldFieldError(routed.call, routed.withheldBy);
    throw exhaustedError(outcomes, routed.plan, this.tools.health, this.keyId);
  }

  complete({ permit }: LaneResponse): void {
    permit.succeeded(monotonicMs());
  }

  fail(answer: LaneResponse, problem: Fault): void {
    const { permit, status } = answer;
    const record = this.records.at(-1);
    if (record !== undefined) this.records[this.records.length - 1] = { ...record, outcome: problem.outcome };
    this.trace?.noteFailure(problem);
    if (this.stopped) return;
    this.logWarning('stream failed', answer.route, { status, problem });
    const failure = { status: null, problem, milliseconds: 0 };
    permit.failed(monotonicMs(), { ...blameOf(this.routed.call.inbound, failure), status });
  }

  private startCall(
    route: PlannedLane,
    {
      permit,
      continued,
      withoutReasoning,
    }: { permit: LanePermit; continued: StreamFactory | null; withoutReasoning: boolean },
  ): LaneCall {
    if (this.lastFailure !== null) this.logMove(this.lastFailure, route);
    const failover = this.turns.isFailover(route);
    const { call } = this.routed;
    const span = this.trace?.request(route.lane, requestAttributes(call), traceableContent(call)) ?? null;
    const lane = { routed: this.routed, route, permit, failover, withoutReasoning, span };
    return (this.current = new LaneCall(lane, this.answers, continued, this.turns, this.tools));
  }

  /** Records the outcome of an attempt. Throws if the request was stopped meanwhile. */
  private recordResult(call: LaneCall, result: AttemptResult, startedMs: number): AttemptResult {
    const { work } = this.routed;
    const { route } = call.lane;
    const now = monotonicMs();
    if (!wasNotCalled(result)) this.records.push(recordOf(route, result, now - startedMs));
    if (this.trace !== null) this.traceResult(this.trace, call, result);
    this.updateHealth(call, result, { startedMs, endedMs: now });
    if (result.kind === 'answered') this.tools.health.recordLatency(route.lane, now - startedMs, now);
    else this.lastFailure = { route, tried: result };
    const isComplete = result.kind === 'answered' && result.answer.complete !== null;
    // A complete response counts even if the caller has left.
    if (work.stopped !== null && !isComplete) {
      if (!work.stoppedByService && call.hasStarted) this.abandoned = call.lane;
      throw work.stopped;
    }
    return result;
  }

  private traceResult(trace: RequestTrace, { lane: { span } }: LaneCall, result: AttemptResult): void {
    if (result.kind === 'answered') {
      const { complete: whole } = result.answer;
      if (whole !== null) span?.end(whole);
      return;
    }
    const { status, problem } = result;
    trace.noteFailure(problem);
    span?.end({ status, problem, usage: null, finishReason: null, isUnasked: wasNotCalled(result) });
  }

  private retryOnSameLane(route: PlannedLane, result: AttemptResult): Promise<LanePermit | null> | null {
    if (route.lane.retries === 0) return null;
    this.sameLane ??= new SameLaneRetry(this.routed, this.tools, this.startedMs);
    return this.sameLane.retry(route, result);
  }

  private logMove(
    { route, tried }: { route: PlannedLane; tried: FailedAttempt },
    { lane }: PlannedLane,
  ): void {
    this.logWarning(route.lane === lane ? 'retry on the same lane' : 'failover', route, tried, {
      to_provider: lane.provider.name,
      to_model: lane.upstreamModel,
      to_region: lane.region,
    });
  }

  private logWarning(
    event: string,
    { lane: from }: PlannedLane,
    { status, problem }: Pick<FailedAttempt, 'status' | 'problem'>,
    attributes: object = {},
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
      ...attributes,
    });
  }

  private updateHealth(
    { lane: { route, permit }, isContinuation }: LaneCall,
    result: AttemptResult,
    { startedMs, endedMs: now }: { readonly startedMs: number; readonly endedMs: number },
  ): void {
    const { lane } = route;
    if (this.stopped || result.kind === 'refused') return permit.neutral();
    if (result.kind === 'answered') {
      this.tools.credentials.accepted(lane);
      permit.responseStarted(now);
      if (result.answer.stream === null) permit.succeeded(now);
      return;
    }
    const { problem, status, pauseMs } = result;
    if (isCredentialRefused(result)) this.tools.credentials.refused(lane, status, problem);
    if (pauseMs > 0) permit.pause(now, pauseMs, problem);
    if (isAccountSpent(problem)) permit.accountSpent(now);
    // A supplier that names a retry time is healthy; no probe is needed.
    else if (pauseMs > 0 && problem.code === 'supplier_limit') permit.neutral();
    // A lane that was not called is not to blame.
    else if (notCalledCodes.has(problem.code)) permit.neutral();
    // A different continuation is not the lane's fault either.
    else if (isContinuation && problem.code === 'stream_interrupted') permit.neutral();
    else
      permit.failed(
        now,
        blameOf(this.routed.call.inbound, { problem, status, milliseconds: now - startedMs }),
      );
  }
}

const requestAttributes = (call: RoutedCall['call']): LaneRequestAttributes => ({
  stream: call.stream,
  choices: call.choices,
  maxOutputTokens: call.operation.limitFields.length === 0 ? null : call.maxOutputTokens,
  effort: call.needs.effort,
  body: call.inbound.body,
  hasMedia: call.measure !== null && call.measure.mediaBytes > 0,
});

/** Null unless the caller's organisation allows content in spans. */
const traceableContent = (call: RoutedCall['call']): TracedRequest | null =>
  call.inbound.caller.tellsContent === true
    ? { body: call.inbound.body, choices: call.choices, texts: () => gateRequestOf(call).texts }
    : null;

/** Services validate bodies by their own rules and respond with 422: another lane could accept the request. */
const failsOnEveryLane = (failure: FailedAttempt): boolean =>
  !wasNotCalled(failure) && !(failure.status === 422 && failure.problem.code === 'invalid_request');

/**
 * The lane could not take the request at all, or its circuit breaker opened while the request waited for a connection.
 */
const wasNotCalled = (result: AttemptResult): boolean =>
  (result.kind === 'refused' && result.status === null) || wasBreakerOpened(result);

const wasBreakerOpened = (result: AttemptResult): boolean =>
  result.kind === 'failed' && result.problem.code === 'no_providers_available';
