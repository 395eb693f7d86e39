import type { ServerResponse } from 'node:http';
import type { AttemptRecord, GateRecord } from '../../audit';
import type { LaneView } from '../../catalogue';
import { type Fault, monotonicMs, type Nano, type UsageSource } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import type { GatewayOperation } from '../operations/operation';
import type { TracedAnswer } from './traced-answer';
import { type TracedRequest, CallContent } from './call-content';
import type { LaneIdentities, LaneIdentity } from './lane-identity';
import { type LaneRequestAttributes, LaneSpan } from './lane-span';
import { OWN_ATTRIBUTE } from './own-attributes';

const NANO_PER_USD = 1e9;

export interface SettlementAttributes {
  readonly requestedModel: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
  readonly costNano: Nano;
  readonly holdNano: Nano;
  readonly usageSource: UsageSource;
  readonly firstTokenMs: number | null;
  readonly auto: string | undefined;
  /** Set if the response is incomplete. */
  readonly problem: Fault | null;
}

interface TraceOptions {
  readonly operation: GatewayOperation;
  readonly span: OpenSpan | null;
  readonly identities: LaneIdentities;
  readonly conventions: Conventions;
  readonly isInner: boolean;
  /** Maximum bytes of each content attribute; null if the operator allows no content. */
  readonly contentBytes: number | null;
}

interface FinishedRequest {
  readonly tries: readonly AttemptRecord[];
  readonly call: { readonly gates: readonly GateRecord[] | null } | null;
}

/** Telemetry of one request; not created if telemetry is off. */
export class RequestTrace {
  private readonly span: OpenSpan | null;
  private reportedGates = 0;
  private settlement: SettlementAttributes | null = null;
  private problem: Fault | null = null;
  private last: LaneSpan | null = null;
  private lastLane: LaneView | null = null;
  private lastProblem: Fault | null = null;
  /** Null for nearly every request, whose content is not reported. */
  private content: CallContent | null = null;
  /** Spans that stay open until the response content is known. */
  private readonly held: LaneSpan[] = [];
  private answeringSpan: LaneSpan | null = null;

  constructor(private readonly options: TraceOptions) {
    this.span = options.span;
  }

  setIds(requestId: string, keyId: string | null): void {
    const { span } = this;
    if (span === null) return;
    span.set(OWN_ATTRIBUTE.requestId, requestId);
    if (keyId !== null) span.set(OWN_ATTRIBUTE.keyId, keyId);
  }

  /** Starts an attempt at a lane. `content` is set if the caller's organisation allows it in spans. */
  request(lane: LaneView, request: LaneRequestAttributes, content: TracedRequest | null): LaneSpan {
    const { operation, identities, conventions, contentBytes } = this.options;
    const identity = identities.get(lane, operation);
    const span = this.startSpan(identity, lane);
    const hasContent = span !== null && content !== null && contentBytes !== null;
    const laneSpan = new LaneSpan(identity, request, span, conventions, hasContent);
    if (hasContent) {
      this.content ??= new CallContent(operation, content, contentBytes);
      this.content.addRequest(span);
      this.held.push(laneSpan);
    }
    this.last = laneSpan;
    this.lastLane = lane;
    this.lastProblem = null;
    return laneSpan;
  }

  noteFailure(problem: Fault): void {
    this.lastProblem = problem;
  }

  get copy(): TracedAnswer | null {
    return this.content?.answer ?? null;
  }

  setAnswer(by: LaneSpan | null, completeBody: Buffer | null): void {
    this.answeringSpan = by;
    if (completeBody !== null) this.copy?.addComplete(completeBody);
  }

  /**
   * Records the verdicts of gates that ran one after the other and have just finished. Masks are reported as events at
   * the end, as they run throughout the response.
   */
  recordGates(records: readonly GateRecord[] | null): void {
    const { span } = this;
    if (span === null || records === null || records.length === this.reportedGates) return;
    const newRecords = records.slice(this.reportedGates);
    this.reportedGates = records.length;
    let endedMs = monotonicMs();
    for (const { name, stage, verdict, ms } of newRecords.toReversed()) {
      const attributes = {
        [OWN_ATTRIBUTE.gate]: name,
        [OWN_ATTRIBUTE.stage]: stage,
        [OWN_ATTRIBUTE.verdict]: verdict,
      };
      if (stage === 'answer') {
        span.event('switchboard.gate', attributes);
        continue;
      }
      const startedMs = endedMs - ms;
      const gate = span.child({ name: `gate ${name}`, kind: 'internal', startedMs });
      for (const [key, value] of Object.entries(attributes)) gate.set(key, value);
      gate.end(endedMs);
      endedMs = startedMs;
    }
  }

  setSettlement(facts: SettlementAttributes): void {
    this.settlement = facts;
    if (facts.problem !== null) this.problem = facts.problem;
  }

  setProblem(problem: Fault): void {
    this.problem = problem;
  }

  /** Ends the trace when the last byte of the response was sent; immediately for an inner request. */
  finish(response: ServerResponse, { tries, call }: FinishedRequest): void {
    const { problem, last } = this;
    const { isInner } = this.options;
    this.recordGates(call?.gates ?? null);
    // An attempt that was never ended broke off with the request.
    last?.end({ status: null, problem, usage: null, finishReason: null });
    if (this.span === null) return;
    const end = (): void => {
      this.release();
      this.end(response.headersSent ? response.statusCode : null, tries.length);
    };
    if (isInner || response.writableFinished || response.destroyed) end();
    else response.once('close', end);
  }

  private startSpan({ name, shared }: LaneIdentity, lane: LaneView): OpenSpan | null {
    const { span, last, lastLane, lastProblem } = this;
    if (span === null) return null;
    const previousSpan = last?.span ?? null;
    if (previousSpan === null || lastLane === null) return span.child({ name, shared, kind: 'client' });
    const move = lastLane === lane ? 'retry' : 'failover';
    const reason = lastProblem?.outcome ?? 'unknown';
    span.event(`switchboard.${move}`, {
      'switchboard.from': lastLane.provider.name,
      'switchboard.to': lane.provider.name,
      [OWN_ATTRIBUTE.reason]: reason,
    });
    const link = {
      span: previousSpan,
      attributes: { [OWN_ATTRIBUTE.move]: move, [OWN_ATTRIBUTE.reason]: reason },
    };
    return span.child({ name, shared, kind: 'client', after: link });
  }

  private release(): void {
    const { content, held, answeringSpan: answering } = this;
    for (const lane of held) {
      if (lane.span !== null) content?.addResponse(lane.span, lane === answering ? this.options : null);
      lane.release();
    }
  }

  private end(status: number | null, tries: number): void {
    const { span, problem, settlement: facts } = this;
    if (span === null) return;
    if (status !== null) span.set(ATTRIBUTE.status, status);
    span.set(OWN_ATTRIBUTE.tries, tries);
    if (facts !== null) addSettlement(span, facts);
    if (problem !== null) {
      span.set(OWN_ATTRIBUTE.outcome, problem.outcome);
      // A caller's own mistake is not a server error: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
      if (problem.status >= 500) {
        span.set(ATTRIBUTE.errorType, problem.outcome);
        span.markFailed();
      }
    }
    span.end();
  }
}

function addSettlement(span: OpenSpan, facts: SettlementAttributes): void {
  span.set(OWN_ATTRIBUTE.requestedModel, facts.requestedModel);
  span.set(OWN_ATTRIBUTE.model, facts.model);
  span.set(OWN_ATTRIBUTE.supplier, facts.supplier);
  if (facts.region !== null) span.set(OWN_ATTRIBUTE.region, facts.region);
  span.set(OWN_ATTRIBUTE.failover, facts.failover);
  span.set(OWN_ATTRIBUTE.cost, Number(facts.costNano) / NANO_PER_USD);
  span.set(OWN_ATTRIBUTE.hold, Number(facts.holdNano) / NANO_PER_USD);
  span.set(OWN_ATTRIBUTE.usageSource, facts.usageSource);
  if (facts.firstTokenMs !== null) span.set(OWN_ATTRIBUTE.firstToken, facts.firstTokenMs / 1_000);
  if (facts.auto !== undefined) span.set(OWN_ATTRIBUTE.auto, facts.auto);
}
