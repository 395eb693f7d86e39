import type { ServerResponse } from 'node:http';
import type { AttemptRecord, GateRecord } from '../../audit';
import type { LaneView } from '../../catalogue';
import { type Fault, monotonicMs, type Nano, type UsageSource } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import type { Operation } from '../operations/operation';
import type { AnswerContent } from './answer-content';
import { type AskedContent, CallContent } from './call-content';
import type { LaneIdentities, LaneIdentity } from './lane-identity';
import { type AskedOfLane, LaneSpan } from './lane-span';
import { OWN } from './own-names';

const NANO_PER_USD = 1e9;

/** What is known once a request is settled. */
export interface SettledFacts {
  readonly askedModel: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
  readonly costNano: Nano;
  readonly holdNano: Nano;
  readonly usageSource: UsageSource;
  readonly firstTokenMs: number | null;
  readonly auto: string | undefined;
  /** It is set where the answer did not become whole. */
  readonly problem: Fault | null;
}

interface TraceOf {
  readonly operation: Operation;
  readonly span: OpenSpan | null;
  readonly identities: LaneIdentities;
  readonly conventions: Conventions;
  /** A part of this process asks, without a connection. */
  readonly isInner: boolean;
  /** The most bytes of each attribute that holds content; null where the operator allows none. */
  readonly contentBytes: number | null;
}

/** What there is at the end of a request. */
interface Left {
  readonly tries: readonly AttemptRecord[];
  readonly call: { readonly gates: readonly GateRecord[] | null } | null;
}

/** What telemetry hears of one request. Without any, there is none of these. */
export class RequestTrace {
  private readonly span: OpenSpan | null;
  /** So many verdicts of gates were told. */
  private told = 0;
  private settledFacts: SettledFacts | null = null;
  private problem: Fault | null = null;
  private last: LaneSpan | null = null;
  private lastLane: LaneView | null = null;
  private lastProblem: Fault | null = null;
  /** Null for nearly every request: nothing of what it asks and gets is told. */
  private content: CallContent | null = null;
  /** They are told at the end what the caller got. */
  private readonly held: LaneSpan[] = [];
  private answering: LaneSpan | null = null;

  constructor(private readonly of: TraceOf) {
    this.span = of.span;
  }

  identified(requestId: string, keyId: string | null): void {
    const { span } = this;
    if (span === null) return;
    span.set(OWN.requestId, requestId);
    if (keyId !== null) span.set(OWN.keyId, keyId);
  }

  /** A lane is asked. `content` is there where the caller's organisation lets it be told. */
  asked(lane: LaneView, asked: AskedOfLane, content: AskedContent | null): LaneSpan {
    const { operation, identities, conventions, contentBytes } = this.of;
    const identity = identities.of(lane, operation);
    const span = this.begin(identity, lane);
    const isTold = span !== null && content !== null && contentBytes !== null;
    const begun = new LaneSpan(identity, asked, span, conventions, isTold);
    if (isTold) {
      this.content ??= new CallContent(operation, content, contentBytes);
      this.content.tellRequest(span);
      this.held.push(begun);
    }
    this.last = begun;
    this.lastLane = lane;
    this.lastProblem = null;
    return begun;
  }

  /** The lane that was asked last did not answer. */
  moved(problem: Fault): void {
    this.lastProblem = problem;
  }

  /** It takes a copy of a stream that goes to the caller; null for nearly every request. */
  get copy(): AnswerContent | null {
    return this.content?.answer ?? null;
  }

  /** The caller gets the answer of this lane; its body, where it is whole. */
  answers(by: LaneSpan | null, whole: Buffer | null): void {
    this.answering = by;
    if (whole !== null) this.copy?.whole(whole);
  }

  /**
   * Gates have been asked one after the other, and the last one has just given its verdict. What masks did is told at
   * the end of an answer, over which it is spread.
   */
  gates(records: readonly GateRecord[] | null): void {
    const { span } = this;
    if (span === null || records === null || records.length === this.told) return;
    const fresh = records.slice(this.told);
    this.told = records.length;
    let endedMs = monotonicMs();
    for (const { name, stage, verdict, ms } of fresh.toReversed()) {
      const facts = { [OWN.gate]: name, [OWN.stage]: stage, [OWN.verdict]: verdict };
      if (stage === 'answer') {
        span.event('switchboard.gate', facts);
        continue;
      }
      const startedMs = endedMs - ms;
      const gate = span.child({ name: `gate ${name}`, kind: 'internal', startedMs });
      for (const [key, value] of Object.entries(facts)) gate.set(key, value);
      gate.end(endedMs);
      endedMs = startedMs;
    }
  }

  settled(facts: SettledFacts): void {
    this.settledFacts = facts;
    if (facts.problem !== null) this.problem = facts.problem;
  }

  failed(problem: Fault): void {
    this.problem = problem;
  }

  /** The request is over as soon as the last byte of its answer has left; within this process, at once. */
  left(response: ServerResponse, { tries, call }: Left): void {
    const { problem, last } = this;
    const { isInner } = this.of;
    this.gates(call?.gates ?? null);
    // A try that nobody ended broke off with the request.
    last?.ended({ status: null, problem, usage: null, finishReason: null });
    if (this.span === null) return;
    const end = (): void => {
      this.release();
      this.end(response.headersSent ? response.statusCode : null, tries.length);
    };
    if (isInner || response.writableFinished || response.destroyed) end();
    else response.once('close', end);
  }

  private begin({ name, shared }: LaneIdentity, lane: LaneView): OpenSpan | null {
    const { span, last, lastLane, lastProblem } = this;
    if (span === null) return null;
    const before = last?.span ?? null;
    if (before === null || lastLane === null) return span.child({ name, shared, kind: 'client' });
    const move = lastLane === lane ? 'retry' : 'failover';
    const reason = lastProblem?.outcome ?? 'unknown';
    span.event(`switchboard.${move}`, {
      'switchboard.from': lastLane.provider.name,
      'switchboard.to': lane.provider.name,
      [OWN.reason]: reason,
    });
    const after = { span: before, attributes: { [OWN.move]: move, [OWN.reason]: reason } };
    return span.child({ name, shared, kind: 'client', after });
  }

  private release(): void {
    const { content, held, answering } = this;
    for (const lane of held) {
      if (lane.span !== null) content?.tellRest(lane.span, lane === answering ? this.of : null);
      lane.release();
    }
  }

  private end(status: number | null, tries: number): void {
    const { span, problem, settledFacts: facts } = this;
    if (span === null) return;
    if (status !== null) span.set(ATTRIBUTE.status, status);
    span.set(OWN.tries, tries);
    if (facts !== null) tellFacts(span, facts);
    if (problem !== null) {
      span.set(OWN.outcome, problem.outcome);
      // A caller's own mistake is no error of a server: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
      if (problem.status >= 500) {
        span.set(ATTRIBUTE.errorType, problem.outcome);
        span.failed();
      }
    }
    span.end();
  }
}

function tellFacts(span: OpenSpan, facts: SettledFacts): void {
  span.set(OWN.asked, facts.askedModel);
  span.set(OWN.model, facts.model);
  span.set(OWN.supplier, facts.supplier);
  if (facts.region !== null) span.set(OWN.region, facts.region);
  span.set(OWN.failover, facts.failover);
  span.set(OWN.cost, Number(facts.costNano) / NANO_PER_USD);
  span.set(OWN.hold, Number(facts.holdNano) / NANO_PER_USD);
  span.set(OWN.usageSource, facts.usageSource);
  if (facts.firstTokenMs !== null) span.set(OWN.firstToken, facts.firstTokenMs / 1_000);
  if (facts.auto !== undefined) span.set(OWN.auto, facts.auto);
}
