import { Injectable } from '@nestjs/common';
import type { AttemptRecord } from '../../audit';
import { type ErrorCode, type Fault, fault, fromUnknown, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import {
  type AnswerHead,
  LaneHealth,
  type PlannedLane,
  type SentCall,
  type SupplierExchange,
  Stickiness,
  SupplierClient,
  SupplierStyles,
  type Ticket,
} from '../../routing';
import { type AnswerContext, svcFacts } from './answer-context';
import type { Answered, LaneAnswer, Sending } from './answered';
import { exhausted } from './exhausted';
import { judge, type Judgement } from './judge';
import { type Outbound, outboundFor } from './outbound';
import { relayWhole } from './relay-whole';
import { laneStream } from './stream/lane-stream-of';
import type { LaneStream } from './stream/lane-stream';
import { type OpenedStream, openStream } from './stream/opening';
import { Patience } from './stream/patience';
import { isText } from './surface';

@Injectable()
export class AttemptTools {
  constructor(
    readonly client: SupplierClient,
    readonly styles: SupplierStyles,
    readonly health: LaneHealth,
    readonly stickiness: Stickiness,
    readonly settings: Settings,
  ) {}
}

const MOST_ATTEMPTS = 3;
const unasked: ReadonlySet<ErrorCode> = new Set(['capacity_exceeded', 'no_providers_available']);

type StreamOf = (context: AnswerContext) => LaneStream;
type Tried = { readonly kind: 'answered'; readonly answered: Answered } | Judgement;

/**
 * Sends a request down its lanes until one answers. Another lane is tried only while the caller has no part of an
 * answer that the next one could contradict, at most three in all, and only as far as the retry budget of its
 * supplier goes. Every try is remembered.
 */
export class Attempts {
  /** The lane that was at work on an answer when the caller left. */
  abandoned: PlannedLane | null = null;
  private next = 0;
  private exchange: SupplierExchange | null = null;
  /** The next try is paid for already. */
  private reserved = false;
  private readonly startedMs = monotonicMs();

  constructor(
    private readonly sending: Sending,
    private readonly tools: AttemptTools,
    /** Every try for this request, of an earlier model too. */
    private readonly records: AttemptRecord[],
  ) {}

  /** Nobody waits for an answer any more. */
  get stopped(): boolean {
    return this.sending.work.stopped !== null;
  }

  /** Whether another lane could be tried. Healthy ones come first in a plan. */
  get hasMore(): boolean {
    const next = this.sending.plan.lanes[this.next];
    if (next === undefined || next.why === 'open' || this.records.length >= MOST_ATTEMPTS) return false;
    return this.tools.health.budgetOf(next.lane.provider.name).affords(monotonicMs());
  }

  async answer(streamOf: StreamOf = laneStream): Promise<Answered> {
    const { plan, work } = this.sending;
    const outcomes: Judgement[] = [];
    while (this.next < plan.lanes.length && this.mayGoOn(outcomes)) {
      const route = plan.lanes[this.next++]!;
      const startedMs = monotonicMs();
      const ticket = this.acquire(route, startedMs);
      if (ticket === null) continue;
      const tried = await this.tryLane(route, ticket, streamOf);
      const endedMs = monotonicMs();
      const isUnasked = tried.kind === 'refused' && tried.status === null;
      if (!isUnasked) this.records.push(recordOf(route, tried, endedMs - startedMs));
      this.note(route, ticket, tried, streamOf !== laneStream, endedMs);
      if (tried.kind === 'answered') this.tools.health.began(route.lane, endedMs - startedMs, endedMs);
      const isWhole = tried.kind === 'answered' && tried.answered.whole !== null;
      // An answer that is whole already is one, even when nobody waits for it any more.
      if (work.stopped !== null && !isWhole) {
        if (work.stoppedByCaller && this.exchange?.begun === true) this.abandoned = route;
        throw work.stopped;
      }
      if (tried.kind === 'answered') return tried.answered;
      // The caller's own mistake is one everywhere, unless it is only a backup that minds.
      if (tried.kind === 'refused' && !isUnasked && outcomes.length === 0) throw tried.problem;
      outcomes.push(tried);
    }
    throw exhausted(outcomes, plan, this.tools.health);
  }

  /** A streamed answer has become whole. */
  done({ route }: Answered): void {
    this.tools.health.breakerOf(route.lane).success(monotonicMs());
  }

  /** The lane that answered last broke off in the middle. */
  broke({ route, ticket }: Answered, problem: Fault): void {
    const record = this.records.at(-1);
    if (record !== undefined) this.records[this.records.length - 1] = { ...record, outcome: problem.outcome };
    if (!this.stopped) this.tools.health.breakerOf(route.lane).failure(monotonicMs(), ticket);
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
    return this.records.length < MOST_ATTEMPTS && plan.lanes[0]?.why !== 'open' && !isLate;
  }

  /** The right to try a lane: it must not rest, unless all of them do, and a retry has to be affordable. */
  private acquire({ lane }: PlannedLane, now: number): Ticket | null {
    const { health } = this.tools;
    const { lanes } = this.sending.plan;
    const breaker = health.breakerOf(lane);
    if (lanes[0]?.why === 'open') return breaker.tryAcquire(now) ?? breaker.tryAsLast(now);
    if (breaker.state(now) === 'open') return null;
    const isRetry = this.records.length > 0;
    if (isRetry && !this.reserved && !health.budgetOf(lane.provider.name).spend(now)) return null;
    this.reserved = false;
    if (!isRetry) for (const each of lanes) health.budgetOf(each.lane.provider.name).firstTry();
    return breaker.tryAcquire(now);
  }

  private async tryLane(route: PlannedLane, ticket: Ticket, streamOf: StreamOf): Promise<Tried> {
    const { inbound, call, held, admission } = this.sending;
    const { styles, settings } = this.tools;
    // Only a stream shows whether something is coming.
    const patience = call.stream
      ? new Patience(route.lane.provider.timeouts.firstToken ?? settings.supplierFirstTokenTimeoutMs)
      : null;
    let outbound: Outbound | null = null;
    this.exchange = null;
    try {
      outbound = outboundFor(inbound, call, held, admission, route, styles);
      const sending = this.send(route, ticket, outbound);
      const sent = sending instanceof Promise ? await sending : sending;
      const { exchange } = sent;
      this.watch(exchange, patience);
      const whole = patience === null ? await exchange.complete() : null;
      const head = whole ?? (await exchange.head);
      if (head.status >= 300) return judge(head, sent.judge(head, whole?.body ?? (await exchange.whole())));
      const answered = this.answerOf(route, ticket, outbound, head, sent);
      if (whole !== null) answered.whole = relayWhole(inbound, call, answered, whole.body);
      if (patience !== null) answered.opened = await this.open(answered, patience, streamOf);
      return { kind: 'answered', answered };
    } catch (error) {
      const problem = fromUnknown(error);
      // What a lane cannot even be asked says nothing about the lane.
      if (outbound === null) return { kind: 'refused', status: null, problem };
      return { kind: 'failed', status: null, problem, pauseMs: 0 };
    } finally {
      patience?.stop();
    }
  }

  private send({ lane }: PlannedLane, ticket: Ticket, { body }: Outbound): SentCall | Promise<SentCall> {
    const { inbound, call, held } = this.sending;
    const { client, health, settings } = this.tools;
    return client.open(
      held.hold,
      {
        operation: call.surface.name,
        lane,
        body,
        stream: call.stream,
        headers: inbound.headers,
        sessionKey: call.session,
        maxOutputTokens: held.cappedOutput ?? undefined,
      },
      {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
        // While it waited for a connection, the lane may have turned out to be down.
        changedMind: () =>
          ticket === 0 && health.breakerOf(lane).state(monotonicMs()) === 'open'
            ? fault('no_providers_available')
            : null,
      },
    );
  }

  /** The caller may leave at any time, and a stream that says nothing may give way to another lane. */
  private watch(exchange: SupplierExchange, patience: Patience | null): void {
    this.exchange = exchange;
    this.sending.work.watch(exchange);
    patience?.onEnd(() => {
      if (this.reserve()) exchange.abort(fault('upstream_timeout'));
    });
  }

  private answerOf(
    route: PlannedLane,
    ticket: Ticket,
    outbound: Outbound,
    head: AnswerHead,
    { exchange, dropped }: SentCall,
  ): Answered {
    const { admission } = this.sending;
    return {
      route,
      ticket,
      model: admission.model.name,
      contextTokens: admission.model.contextTokens,
      outbound,
      status: head.status,
      contentType: head.headers['content-type'] ?? '',
      exchange,
      dropped: outbound.dropped.length === 0 ? dropped : [...outbound.dropped, ...dropped],
      failover: this.records.length > 0 || this.passedOver(route),
      opened: null,
      whole: null,
    };
  }

  private open(answer: LaneAnswer, patience: Patience, streamOf: StreamOf): Promise<OpenedStream> {
    const { inbound, call } = this.sending;
    const { surface } = call;
    if (!isText(surface)) throw fault('internal_error');
    const { outbound, contextTokens, model } = answer;
    const facts = svcFacts(inbound, answer);
    const stream = streamOf({ inbound, call, surface, outbound, contextTokens, model, facts });
    return openStream(answer.exchange, stream, patience, () => this.reserve());
  }

  /** A lane that comes first was resting. */
  private passedOver({ lane: { priority } }: PlannedLane): boolean {
    return this.sending.plan.lanes.some(({ lane, why }) => why === 'open' && lane.priority < priority);
  }

  private note(
    { lane }: PlannedLane,
    ticket: Ticket,
    tried: Tried,
    isContinuation: boolean,
    now: number,
  ): void {
    const breaker = this.tools.health.breakerOf(lane);
    if (this.stopped || tried.kind === 'refused') return breaker.neutral(ticket);
    if (tried.kind === 'answered') {
      breaker.answering(ticket);
      if (tried.answered.opened === null) breaker.success(now);
      return;
    }
    const isToldWhen = tried.pauseMs > 0;
    if (isToldWhen) breaker.pause(now + tried.pauseMs);
    // A supplier that says when to come back is well; nothing has to be found out about it.
    if (isToldWhen && tried.problem.code === 'supplier_limit') breaker.neutral(ticket);
    // So is one that was not even asked.
    else if (unasked.has(tried.problem.code)) breaker.neutral(ticket);
    // Nor is another answer than before the fault of the lane.
    else if (isContinuation && tried.problem.code === 'stream_interrupted') breaker.neutral(ticket);
    else breaker.failure(now, ticket);
  }
}

function recordOf({ lane }: PlannedLane, tried: Tried, milliseconds: number): AttemptRecord {
  return {
    supplier: lane.provider.name,
    region: lane.region,
    model: lane.upstreamModel,
    status: tried.kind === 'answered' ? tried.answered.status : tried.status,
    milliseconds: Math.round(milliseconds),
    outcome: tried.kind === 'answered' ? 'answered' : tried.problem.outcome,
  };
}
