import type { AttemptRecord } from '../../audit';
import type { Hold } from '../../billing';
import {
  completionTokens,
  costOf,
  type Fault,
  monotonicMs,
  promptTokens,
  type UsageReading,
} from '../../kernel';
import type { CallFacts } from '../reply/svc-headers';
import type { Answered } from './answered';
import type { Call } from './describe';
import { chargedUsage } from './fees';
import { soldSound } from './speech';
import type { Inbound } from './inbound';
import { type Delivery, estimateUsage } from './delivery';

interface Account {
  readonly facts: CallFacts;
  /** Settles once neither charge nor record can be lost. */
  readonly kept: Promise<void>;
}

type Settled = Pick<Answered, 'route' | 'status' | 'failover' | 'dropped' | 'outputCap'> & {
  readonly outbound: { readonly translation: object | null };
};

/** Charges what was delivered and puts it on record. */
export function settle(
  inbound: Inbound,
  call: Call,
  hold: Hold,
  { route, status, failover, dropped, outbound, outputCap }: Settled,
  attempts: readonly AttemptRecord[],
  delivery: Delivery,
): Account {
  const { lane, price } = route;
  const usage = chargedUsage(delivery.usage, call, outbound);
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const costNano = costOf(usage, price.rates);
  const { keyId, userId, organisationId, departmentId, projectId, walletId } = inbound.caller.attribution;
  const kept = hold.settle({
    // The engine copies fast only into an object that is still empty.
    ...usage,
    usageSource: usage.source,
    keyId,
    userId,
    organisationId,
    departmentId,
    projectId,
    walletId,
    surface: call.surface.name,
    model: call.model,
    servedModel: lane.upstreamModel,
    supplier: lane.provider.name,
    region: lane.region,
    priceId: price.id,
    costNano,
    status: delivery.problem?.status ?? status,
    code: delivery.problem?.outcome ?? null,
    stream: call.stream,
    failover,
    attempts: attempts.length > 1 ? attempts : null,
    latencyMs,
    firstTokenMs: delivery.firstTokenMs,
    finishReason: delivery.finishReason,
    sessionKey: call.session,
    dropped: countsOf(dropped, delivery.dropped),
    endUser: call.endUser,
    tags: call.tags,
  });
  const facts = {
    supplier: lane.provider.name,
    region: lane.region,
    failover,
    outputCap,
    upstreamModel: lane.upstreamModel,
    latencyMs,
    inputTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    costNano,
  };
  return { facts, kept };
}

const passed = { translation: null };

/** A caller who does not wait for an answer pays for what the supplier was sent. */
export function settleAbandoned(
  inbound: Inbound,
  call: Call,
  hold: Hold,
  { route, failover }: Pick<Answered, 'route' | 'failover'>,
  attempts: readonly AttemptRecord[],
  problem: Fault,
): Promise<void> {
  const unreported: UsageReading = { kind: 'absent' };
  const reading = soldSound(unreported, call, route.price.rates, { sound: null, textBytes: () => 0 });
  const usage = reading.kind === 'ok' ? reading.usage : estimateUsage(call, 0);
  const delivery = { usage, finishReason: null, firstTokenMs: null, dropped: [], problem };
  const answered = {
    route,
    status: problem.status,
    failover,
    dropped: [],
    outputCap: null,
    outbound: passed,
  };
  return settle(inbound, call, hold, answered, attempts, delivery).kept;
}

/** A record names so many fields at most; requests that lose more lose them all alike. */
const MOST_FIELDS = 20;

function countsOf(...lists: readonly Delivery['dropped'][]): Record<string, number> | null {
  let counts: Record<string, number> | null = null;
  let named = 0;
  for (const list of lists) {
    for (const { path, count } of list) {
      if (named++ === MOST_FIELDS) return counts;
      counts ??= Object.create(null) as Record<string, number>;
      counts[path] = (counts[path] ?? 0) + count;
    }
  }
  return counts;
}
