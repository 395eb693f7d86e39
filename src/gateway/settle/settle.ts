import type { AttemptRecord } from '../../audit';
import {
  completionTokens,
  costOf,
  type Fault,
  monotonicMs,
  promptTokens,
  type UsageReading,
} from '../../kernel';
import { recordedFor } from '../../keys';
import type { Delivery, LaneTry } from '../attempt';
import { soldSound } from '../media/speech';
import { droppedCounts, droppedNames } from '../reply/dropped-names';
import type { CallFacts } from '../reply/svc-headers';
import { estimateUsage } from './answer-usage';
import { chargedUsage } from './fees';

export interface Settled {
  readonly facts: CallFacts;
  /** It settles once charge and record are durable. */
  readonly kept: Promise<void>;
}

/** Charges the delivered answer and records it. */
export function settle(delivery: Delivery, attempts: readonly AttemptRecord[]): Settled {
  const { usage } = delivery;
  const { routed, route, failover } = delivery.by;
  const { lane, price } = route;
  const { call, held } = routed;
  const { inbound } = call;
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const costNano = costOf(usage, price.rates, inbound.priceFactor);
  const { keyId, userId, organisationId, departmentId, projectId, walletId } = recordedFor(inbound.caller);
  const kept = held.hold.settle({
    // V8 copies fast only into an object that is still empty.
    ...usage,
    usageSource: usage.source,
    keyId,
    userId,
    organisationId,
    departmentId,
    projectId,
    walletId,
    surface: call.operation.name,
    model: call.model,
    servedModel: lane.upstreamModel,
    supplier: lane.provider.name,
    region: lane.region,
    priceId: price.id,
    costNano,
    status: delivery.problem?.status ?? delivery.status,
    code: delivery.problem?.outcome ?? null,
    stream: call.stream,
    failover,
    attempts: attempts.length > 1 ? attempts : null,
    latencyMs,
    firstTokenMs: delivery.firstTokenMs,
    finishReason: delivery.finishReason,
    sessionKey: call.session,
    dropped: droppedCounts(delivery.dropped),
    endUser: call.endUser,
    tags: call.tags,
    keyModelId: inbound.caller.modelLimits === null ? null : held.hold.keyModelId,
    priceFactor: inbound.priceFactor,
    autoDecision: call.auto?.explained(routed.model.name) ?? null,
    clientRequestId: inbound.clientRequestId,
  });
  const facts = {
    supplier: lane.provider.name,
    region: lane.region,
    failover,
    outputCap: held.cappedOutput,
    upstreamModel: lane.upstreamModel,
    dropped: droppedNames(delivery.dropped),
    ...(call.auto !== null && { auto: call.auto.told(routed.model.name) }),
    latencyMs,
    inputTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    costNano,
  };
  return { facts, kept };
}

const untranslated = { translation: null };

/** A caller who leaves early pays for the work that the supplier was sent. */
export function settleAbandoned(
  by: LaneTry,
  attempts: readonly AttemptRecord[],
  problem: Fault,
): Promise<void> {
  const { call } = by.routed;
  const unreported: UsageReading = { kind: 'absent' };
  const reading = soldSound(unreported, call, by.route.price.rates, { sound: null, textBytes: () => 0 });
  const usage = reading.kind === 'ok' ? reading.usage : estimateUsage(call, 0);
  const delivery = {
    by,
    status: problem.status,
    usage: chargedUsage(usage, call, untranslated),
    finishReason: null,
    calls: [],
    firstTokenMs: null,
    dropped: [],
    problem,
    body: '',
  };
  return settle(delivery, attempts).kept;
}
