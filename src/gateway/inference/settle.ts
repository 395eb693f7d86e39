import { insertRequestRecords, type RequestRecord } from '../../audit';
import { completionTokens, costOf, monotonicMs, promptTokens } from '../../kernel';
import type { Database } from '../../platform';
import type { CallFacts } from '../reply/svc-headers';
import type { Answered } from './attempt';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import type { Delivery } from './relay';

/** Puts the request on record, and answers what the caller is told of it. */
export async function settle(
  database: Database,
  inbound: Inbound,
  call: Call,
  answered: Answered,
  delivery: Delivery,
): Promise<CallFacts> {
  const { usage } = delivery;
  const { lane, price } = answered.route;
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const { source, ...counts } = usage;
  const record: RequestRecord = {
    ...inbound.caller.attribution,
    ...counts,
    requestId: inbound.requestId,
    createdAt: inbound.receivedAt,
    settlementId: null,
    surface: 'chat',
    model: call.model,
    servedModel: lane.upstreamModel,
    supplier: lane.provider.name,
    region: lane.region,
    priceId: price.id,
    usageSource: source,
    costNano: costOf(usage, price.rates),
    status: delivery.problem?.status ?? answered.head.status,
    code: delivery.problem?.code ?? null,
    stream: call.stream,
    failover: answered.attempts.length > 1,
    attempts: answered.attempts.length > 1 ? answered.attempts : null,
    latencyMs,
    firstTokenMs: delivery.firstTokenMs,
    finishReason: delivery.finishReason,
    sessionKey: null,
  };
  await insertRequestRecords(database.source.manager, [record]);
  return {
    supplier: lane.provider.name,
    region: lane.region,
    failover: record.failover,
    latencyMs,
    inputTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    costNano: record.costNano,
  };
}
