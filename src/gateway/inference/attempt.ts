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
  SupplierClient,
  type SupplierExchange,
  SupplierStyles,
} from '../../routing';
import type { Work } from '../work';
import type { Admission } from './admit';
import type { Call } from './describe';
import type { HeldCall } from './hold';
import type { Inbound } from './inbound';
import { judge, type Judgement } from './judge';
import { type Outbound, outboundFor } from './outbound';

export interface Answered {
  readonly route: PlannedLane;
  /** The catalogue's name of the model that answers. */
  readonly model: string;
  readonly contextTokens: number | null;
  readonly outbound: Outbound;
  readonly status: number;
  readonly contentType: string;
  readonly exchange: SupplierExchange;
  readonly attempts: readonly AttemptRecord[];
}

@Injectable()
export class AttemptTools {
  constructor(
    readonly client: SupplierClient,
    readonly styles: SupplierStyles,
    readonly health: LaneHealth,
    readonly settings: Settings,
  ) {}
}

const MOST_ATTEMPTS = 3;

/**
 * Sends the request down the lanes until one answers. Another lane is tried only while nothing has reached the
 * caller, at most three in all, and only as far as the retry budget of its supplier goes. Every try is remembered.
 */
export async function attempt(
  inbound: Inbound,
  call: Call,
  { model }: Admission,
  held: HeldCall,
  plan: RoutePlan,
  work: Work,
  tools: AttemptTools,
): Promise<Answered> {
  const attempts: AttemptRecord[] = [];
  let last: Fault | null = null;
  for (const route of plan.lanes) {
    if (attempts.length === MOST_ATTEMPTS) break;
    if (!mayTry(route, attempts.length > 0, tools.health)) continue;
    const startedMs = monotonicMs();
    const outbound = outboundFor(inbound, call, held, route, tools.styles);
    const tried = await tryLane(inbound, call, held, route, outbound, work, tools);
    attempts.push(recordOf(route, tried, monotonicMs() - startedMs));
    note(route, tried, work, tools.health);
    if (work.stopped !== null) throw work.stopped;
    if (tried.kind === 'answered') {
      const { head, sent } = tried;
      const { exchange } = sent;
      return {
        route,
        model: model.name,
        contextTokens: model.contextTokens,
        outbound,
        status: head.status,
        contentType: head.headers['content-type'] ?? '',
        exchange,
        attempts,
      };
    }
    if (tried.kind === 'refused') throw tried.problem;
    last = tried.problem;
  }
  throw last ?? nothingHealthy(plan, tools.health);
}

type Tried = { readonly kind: 'answered'; readonly head: AnswerHead; readonly sent: SentCall } | Judgement;

async function tryLane(
  inbound: Inbound,
  call: Call,
  { hold, cappedOutput }: HeldCall,
  { lane }: PlannedLane,
  { body }: Outbound,
  work: Work,
  { client, settings }: AttemptTools,
): Promise<Tried> {
  try {
    const sent = await client.open(
      hold,
      {
        operation: call.surface.name,
        lane,
        body,
        stream: call.stream,
        headers: inbound.headers,
        sessionKey: null,
        ...(cappedOutput === null ? {} : { maxOutputTokens: cappedOutput }),
      },
      {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
      },
    );
    work.watch(sent.exchange);
    const head = await sent.exchange.head;
    if (head.status < 300) return { kind: 'answered', head, sent };
    return judge(head, sent.judge(head, await sent.exchange.whole()));
  } catch (error) {
    return { kind: 'failed', status: null, problem: fromUnknown(error), pauseMs: 0 };
  }
}

/** A lane at rest is passed over; a retry has to be affordable. */
function mayTry({ lane }: PlannedLane, isRetry: boolean, health: LaneHealth): boolean {
  const now = monotonicMs();
  const budget = health.budgetOf(lane.provider.name);
  if (isRetry && !budget.spend(now)) return false;
  if (!health.breakerOf(lane).tryAcquire(now)) return false;
  if (!isRetry) budget.firstTry();
  return true;
}

function note({ lane }: PlannedLane, tried: Tried, work: Work, health: LaneHealth): void {
  const breaker = health.breakerOf(lane);
  const now = monotonicMs();
  if (tried.kind === 'answered') breaker.success(now);
  else if (tried.kind === 'refused' || work.stopped !== null) breaker.neutral();
  else {
    breaker.failure(now);
    if (tried.pauseMs > 0) breaker.pause(now + tried.pauseMs);
  }
}

function recordOf({ lane }: PlannedLane, tried: Tried, milliseconds: number): AttemptRecord {
  return {
    supplier: lane.provider.name,
    region: lane.region,
    model: lane.upstreamModel,
    status: tried.kind === 'answered' ? tried.head.status : tried.status,
    milliseconds: Math.round(milliseconds),
    outcome: tried.kind === 'answered' ? 'answered' : tried.problem.code,
  };
}

/** Every lane rests: the caller is told when the first of them may be tried again. */
function nothingHealthy(plan: RoutePlan, health: LaneHealth): Fault {
  const now = monotonicMs();
  const next = Math.min(...plan.lanes.map(({ lane }) => health.breakerOf(lane).nextTryAt(now)));
  return fault('no_providers_available', {
    retryAfterSeconds: Number.isFinite(next) ? Math.max(1, Math.ceil((next - now) / 1_000)) : 1,
  });
}
