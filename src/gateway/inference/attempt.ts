import { Injectable } from '@nestjs/common';
import type { AttemptRecord } from '../../audit';
import { type Fault, fault, fromUnknown, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import {
  type AnswerHead,
  LaneHealth,
  type PlannedLane,
  type RoutePlan,
  type SentCall,
  Stickiness,
  SupplierClient,
  type SupplierExchange,
  SupplierStyles,
} from '../../routing';
import type { RouteFacts } from '../reply/svc-headers';
import type { Work } from '../work';
import type { Admission } from './admit';
import { type AnswerContext, svcFacts } from './answer-context';
import type { Call } from './describe';
import type { HeldCall } from './hold';
import type { Inbound } from './inbound';
import { judge, type Judgement } from './judge';
import { type Outbound, outboundFor } from './outbound';
import { relayWhole, type WholeDelivery } from './relay-whole';
import { laneStream } from './stream/lane-stream-of';
import type { LaneStream } from './stream/lane-stream';
import { type OpenedStream, openStream } from './stream/opening';
import { Patience } from './stream/patience';
import { isText } from './surface';

/** A lane that has begun to answer. */
export interface LaneAnswer {
  readonly route: PlannedLane;
  /** The catalogue's name of the model that answers. */
  readonly model: string;
  readonly contextTokens: number | null;
  readonly outbound: Outbound;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
}

/** An answer in hand: one of the two, as it was asked for. */
export interface Answered extends LaneAnswer {
  readonly opened: OpenedStream | null;
  readonly whole: WholeDelivery | null;
}

/** Everything a request is sent with, whichever lane it takes. */
export interface Sending {
  readonly inbound: Inbound;
  readonly call: Call;
  readonly admission: Admission;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: Work;
}

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

type StreamOf = (context: AnswerContext) => LaneStream;
type Tried = { readonly kind: 'answered'; readonly answered: Answered } | Judgement;

/**
 * Sends a request down its lanes until one answers. Another lane is tried only while the caller has no part of an
 * answer that the next one could contradict, at most three in all, and only as far as the retry budget of its
 * supplier goes. Every try is remembered.
 */
export class Attempts {
  private next = 0;

  constructor(
    private readonly sending: Sending,
    private readonly tools: AttemptTools,
    /** Every try for this request, of an earlier model too. */
    private readonly records: AttemptRecord[],
  ) {}

  get failedOver(): boolean {
    return this.records.length > 1;
  }

  /** Whether another lane could be tried. */
  get hasMore(): boolean {
    const { lanes } = this.sending.plan;
    return (
      this.records.length < MOST_ATTEMPTS && this.next < lanes.length && lanes[this.next]?.why !== 'open'
    );
  }

  /** Nobody waits for an answer any more. */
  get stopped(): boolean {
    return this.sending.work.stopped !== null;
  }

  async answer(streamOf: StreamOf = laneStream): Promise<Answered> {
    const { plan, work } = this.sending;
    let last: Fault | null = null;
    while (this.next < plan.lanes.length && this.records.length < MOST_ATTEMPTS) {
      const route = plan.lanes[this.next++]!;
      if (!this.mayTry(route)) continue;
      const startedMs = monotonicMs();
      const tried = await this.tryLane(route, streamOf);
      this.records.push(recordOf(route, tried, monotonicMs() - startedMs));
      this.note(route, tried);
      if (work.stopped !== null) throw work.stopped;
      if (tried.kind === 'answered') return tried.answered;
      if (tried.kind === 'refused') throw tried.problem;
      last = tried.problem;
    }
    throw last ?? this.nothingHealthy();
  }

  /** What the caller is told before the answer. */
  routeOf({ route: { lane } }: Answered): RouteFacts {
    return { supplier: lane.provider.name, region: lane.region, failover: this.failedOver };
  }

  /** The lane that answered last broke off in the middle. */
  broke({ route }: Answered, problem: Fault): void {
    const record = this.records.at(-1);
    if (record !== undefined) this.records[this.records.length - 1] = { ...record, outcome: problem.code };
    this.tools.health.breakerOf(route.lane).failure(monotonicMs());
  }

  private async tryLane(route: PlannedLane, streamOf: StreamOf): Promise<Tried> {
    const { inbound, call, held, work } = this.sending;
    const { styles, client, settings } = this.tools;
    const outbound = outboundFor(inbound, call, held, route, styles);
    // Only a stream shows whether something is coming.
    const patience = call.stream
      ? new Patience(route.lane.provider.timeouts.firstToken ?? settings.supplierFirstTokenTimeoutMs)
      : null;
    try {
      const sent = await client.open(
        held.hold,
        {
          operation: call.surface.name,
          lane: route.lane,
          body: outbound.body,
          stream: call.stream,
          headers: inbound.headers,
          sessionKey: call.session,
          ...(held.cappedOutput === null ? {} : { maxOutputTokens: held.cappedOutput }),
        },
        {
          firstByteMs: call.stream
            ? settings.supplierStreamFirstByteTimeoutMs
            : settings.supplierFirstByteTimeoutMs,
          idleMs: settings.supplierIdleTimeoutMs,
          totalMs: settings.supplierTotalTimeoutMs,
        },
      );
      const { exchange } = sent;
      work.watch(exchange);
      if (this.hasMore) patience?.onEnd(() => exchange.abort(fault('upstream_timeout')));
      const head = await exchange.head;
      if (head.status >= 300) return judge(head, sent.judge(head, await exchange.whole()));
      return {
        kind: 'answered',
        answered: await this.opened(route, outbound, head, sent, patience, streamOf),
      };
    } catch (error) {
      return { kind: 'failed', status: null, problem: fromUnknown(error), pauseMs: 0 };
    } finally {
      patience?.stop();
    }
  }

  private async opened(
    route: PlannedLane,
    outbound: Outbound,
    head: AnswerHead,
    { exchange }: SentCall,
    patience: Patience | null,
    streamOf: StreamOf,
  ): Promise<Answered> {
    const { inbound, call, admission } = this.sending;
    const { surface } = call;
    const answered = {
      route,
      model: admission.model.name,
      contextTokens: admission.model.contextTokens,
      outbound,
      status: head.status,
      contentType: head.headers['content-type'] ?? '',
      exchange,
    };
    if (patience === null || !isText(surface))
      return { ...answered, opened: null, whole: await relayWhole(inbound, call, answered) };
    const facts = svcFacts(inbound, route, () => this.failedOver);
    const context = { inbound, call, surface, outbound, contextTokens: answered.contextTokens, facts };
    return {
      ...answered,
      whole: null,
      opened: await openStream(exchange, streamOf(context), this.hasMore ? null : patience),
    };
  }

  /** A lane at rest is passed over, unless all of them rest; a retry has to be affordable. */
  private mayTry({ lane }: PlannedLane): boolean {
    const { health } = this.tools;
    const isRetry = this.records.length > 0;
    const now = monotonicMs();
    const budget = health.budgetOf(lane.provider.name);
    if (isRetry && !budget.spend(now)) return false;
    const breaker = health.breakerOf(lane);
    const isLastHope = this.sending.plan.lanes[0]?.why === 'open';
    if (!breaker.tryAcquire(now) && !(isLastHope && breaker.tryAsLast(now))) return false;
    if (!isRetry) budget.firstTry();
    return true;
  }

  private note({ lane }: PlannedLane, tried: Tried): void {
    const breaker = this.tools.health.breakerOf(lane);
    const now = monotonicMs();
    if (tried.kind === 'answered') breaker.success(now);
    else if (tried.kind === 'refused' || this.sending.work.stopped !== null) breaker.neutral();
    else {
      breaker.failure(now);
      if (tried.pauseMs > 0) breaker.pause(now + tried.pauseMs);
    }
  }

  /** Every lane rests: the caller is told when the first of them may be tried again. */
  private nothingHealthy(): Fault {
    const now = monotonicMs();
    const { lanes } = this.sending.plan;
    const next = Math.min(...lanes.map(({ lane }) => this.tools.health.breakerOf(lane).nextTryAt(now)));
    return fault('no_providers_available', {
      retryAfterSeconds: Number.isFinite(next) ? Math.max(1, Math.ceil((next - now) / 1_000)) : 1,
    });
  }
}

function recordOf({ lane }: PlannedLane, tried: Tried, milliseconds: number): AttemptRecord {
  return {
    supplier: lane.provider.name,
    region: lane.region,
    model: lane.upstreamModel,
    status: tried.kind === 'answered' ? tried.answered.status : tried.status,
    milliseconds: Math.round(milliseconds),
    outcome: tried.kind === 'answered' ? 'answered' : tried.problem.code,
  };
}
