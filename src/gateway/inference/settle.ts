import type { AttemptRecord } from '../../audit';
import type { Hold } from '../../billing';
import { completionTokens, costOf, monotonicMs, promptTokens } from '../../kernel';
import type { CallFacts } from '../reply/svc-headers';
import type { Answered } from './answered';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import type { Delivery } from './delivery';

/** Charges what was delivered and puts it on record; returns once neither can be lost. */
export async function settle(
  inbound: Inbound,
  call: Call,
  hold: Hold,
  { route, status, failover }: Answered,
  attempts: readonly AttemptRecord[],
  delivery: Delivery,
): Promise<CallFacts> {
  const { lane, price } = route;
  const { source, ...counts } = delivery.usage;
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const costNano = costOf(counts, price.rates);
  await hold.settle({
    ...inbound.caller.attribution,
    ...counts,
    surface: call.surface.name,
    model: call.model,
    servedModel: lane.upstreamModel,
    supplier: lane.provider.name,
    region: lane.region,
    priceId: price.id,
    usageSource: source,
    costNano,
    status: delivery.problem?.status ?? status,
    code: delivery.problem?.code ?? null,
    stream: call.stream,
    failover,
    attempts: attempts.length > 1 ? attempts : null,
    latencyMs,
    firstTokenMs: delivery.firstTokenMs,
    finishReason: delivery.finishReason,
    sessionKey: call.session,
    dropped: countsOf(delivery.dropped),
  });
  return {
    supplier: lane.provider.name,
    region: lane.region,
    failover,
    latencyMs,
    inputTokens: promptTokens(counts),
    outputTokens: completionTokens(counts),
    costNano,
  };
}

/** A record names so many fields at most; requests that lose more lose them all alike. */
const MOST_FIELDS = 20;

function countsOf(dropped: Delivery['dropped']): Record<string, number> | null {
  if (dropped.length === 0) return null;
  const counts = new Map<string, number>();
  for (const { path, count } of dropped.slice(0, MOST_FIELDS))
    counts.set(path, (counts.get(path) ?? 0) + count);
  return Object.fromEntries(counts);
}
