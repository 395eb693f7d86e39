import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type AttemptRecord, type RecordAttributes, Refusals } from '../../audit';
import { Escrow } from '../../billing';
import type { PriceView } from '../../catalogue';
import {
  completionTokens,
  costOf,
  type Fault,
  feeLines,
  fromUnknown,
  monotonicMs,
  type Nano,
  type PriceFactor,
  promptTokens,
  type RecordedFee,
  type UsageCounts,
  type UsageReading,
} from '../../kernel';
import { recordedAttribution } from '../../keys';
import type { StoredContentKind } from '../../vendors';
import { AttemptTools, type Delivery, type LaneAttempt } from '../attempt';
import { type GatewayCall, StoredResponses } from '../intake';
import { chargedAudioUsage } from '../media/speech';
import { type CallSummary, droppedCounts, droppedNames, setDroppedHeader } from '../reply/svc-headers';
import { StoredIdsService } from '../stored/stored-ids.service';
import type { SettlementAttributes } from '../trace/request-trace';
import { type AnswerSample, AnswerSampling } from './answer-sampling';
import { chargedUsage, estimateUsage } from './answer-usage';
import { RequestMetrics } from './request-metrics';
import { recordedGates } from './recorded-gates';
import { recordRefusal } from './record-refusal';
import type { RequestProgress } from './request-progress';
import { SettledGates } from './settled-gates';

export interface SettledDelivery {
  readonly facts: CallSummary;
  /** Settles once charge and record are durable. */
  readonly durable: Promise<void>;
}

@Injectable()
export class Settlement {
  constructor(
    private readonly tools: AttemptTools,
    private readonly storedResponses: StoredResponses,
    private readonly storedIds: StoredIdsService,
    private readonly requestMetrics: RequestMetrics,
    private readonly sampling: AnswerSampling,
    readonly refusals: Refusals,
    readonly escrow: Escrow,
    readonly gates: SettledGates,
  ) {}

  /** Charges the delivery. Everything that later requests can refer to becomes durable with the charge. */
  settle(delivery: Delivery, progress: RequestProgress, answer: Buffer | string | null): SettledDelivery {
    const { by, seals = [] } = delivery;
    this.tools.owners.remember(seals, by.route.lane.provider);
    const settled = chargeAndRecord(delivery, progress.tries, this.gates);
    const { facts, durable } = settled;
    progress.trace?.setSettlement(settlementAttributes(delivery, facts));
    progress.tokens?.correct(facts.inputTokens + facts.outputTokens);
    const { operation, auto, inbound } = by.routed.call;
    const stored = idsStoredBySupplier(delivery);
    if (operation.keepsAnswers !== true && auto === null && stored === null) return settled;
    const recording =
      stored && this.storedIds.record(inbound.caller.keyId, by.route.lane.provider.name, stored);
    return { facts, durable: this.whenDurable(delivery, durable, answer, recording) };
  }

  countServed(delivery: Delivery, { tries }: RequestProgress, facts: CallSummary): void {
    this.requestMetrics.served(delivery, tries, facts);
  }

  startSample(call: GatewayCall): AnswerSample | null {
    return this.sampling.start(call);
  }

  async settleAbandoned(
    by: LaneAttempt,
    call: GatewayCall,
    progress: RequestProgress,
    error: unknown,
  ): Promise<void> {
    progress.isSettled = true;
    progress.tokens?.correct(call.inputEstimate);
    const { delivery, settled } = chargeAbandoned(by, progress.tries, fromUnknown(error), this.gates);
    progress.trace?.setSettlement(settlementAttributes(delivery, settled.facts));
    await settled.durable;
  }

  async recordFailure(progress: RequestProgress, error: unknown, response: ServerResponse): Promise<void> {
    const { http, operation, tries, model, isSettled, dropped } = progress;
    if (!response.headersSent) setDroppedHeader(response, droppedNames(dropped));
    this.requestMetrics.failed(operation.name, model, error, tries);
    if (model !== '') http.attempted = { model, supplier: tries.at(-1)?.supplier ?? null };
    if (!isSettled) await recordRefusal(progress, error, this);
  }

  /** Waits until the settlement and a referable response are durable, before the last byte is sent. */
  private async whenDurable(
    { by, calls }: Delivery,
    charged: Promise<void>,
    answer: Buffer | string | null,
    recording: Promise<void> | null,
  ): Promise<void> {
    const { call, model } = by.routed;
    const isStored = call.operation.keepsAnswers === true && answer !== null;
    const storing = isStored ? this.storedResponses.save(call, model.name, answer) : undefined;
    const remembering = call.auto?.whenRemembered(calls);
    await charged;
    if (storing !== undefined) await storing;
    if (recording !== null) await recording;
    if (remembering !== undefined) await remembering;
  }
}

/** Ids of a delivery that outlive it; null if there are none. Only on the native route do suppliers store responses. */
function idsStoredBySupplier({ by, stored }: Delivery): ReadonlyMap<string, StoredContentKind> | null {
  if (stored === undefined || stored.size === 0) return null;
  const { operation, inbound } = by.routed.call;
  const keepsResponses = operation.untouched === true && inbound.body.store !== false;
  const outliving = [...stored].filter(
    ([, kind]) => keepsResponses || (kind !== 'response' && kind !== 'item'),
  );
  return outliving.length === 0 ? null : new Map(outliving);
}

function chargeAndRecord(
  delivery: Delivery,
  attempts: readonly AttemptRecord[],
  gates: SettledGates,
): SettledDelivery {
  const { usage } = delivery;
  const { routed, route, failover } = delivery.by;
  const { lane, price } = route;
  const { call, held } = routed;
  const { inbound } = call;
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const costNano = costOf(usage, price.rates, inbound.priceFactor);
  const { keyId, userId, organisationId, departmentId, projectId, walletId } = recordedAttribution(
    inbound.caller,
  );
  const record: RecordAttributes = {
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
    autoDecision: call.auto?.explain(routed.model.name) ?? null,
    clientRequestId: inbound.clientRequestId,
    surcharges: feesOf(price, usage, inbound.priceFactor),
    gates: recordedGates(call.gates),
    excess: usage.excess ?? null,
  };
  const durable = held.hold.settle(record);
  gates.show(held.hold, record, durable);
  return { facts: callSummary(delivery, latencyMs, costNano), durable };
}

function callSummary({ by, usage, dropped }: Delivery, latencyMs: number, costNano: Nano): CallSummary {
  const { routed, route, failover } = by;
  const { lane } = route;
  const { call, held } = routed;
  return {
    supplier: lane.provider.name,
    region: lane.region,
    failover,
    outputCap: held.cappedOutput,
    upstreamModel: lane.upstreamModel,
    dropped: droppedNames(dropped),
    ...(call.auto !== null && { auto: call.auto.headerText(routed.model.name) }),
    latencyMs,
    inputTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    costNano,
  };
}

const settlementAttributes = (
  { by, usage, firstTokenMs, problem }: Delivery,
  facts: CallSummary,
): SettlementAttributes => ({
  requestedModel: by.routed.call.model,
  model: by.routed.model.name,
  supplier: facts.supplier,
  region: facts.region,
  failover: facts.failover,
  costNano: facts.costNano,
  holdNano: by.routed.held.hold.amount,
  usageSource: usage.source,
  firstTokenMs,
  auto: facts.auto,
  problem,
});

const withoutConversion = { translation: null };

function chargeAbandoned(
  by: LaneAttempt,
  attempts: readonly AttemptRecord[],
  problem: Fault,
  gates: SettledGates,
): { readonly delivery: Delivery; readonly settled: SettledDelivery } {
  const { call } = by.routed;
  const unreported: UsageReading = { kind: 'absent' };
  const reading = chargedAudioUsage(unreported, call, by.route.price.rates, {
    sound: null,
    textBytes: () => 0,
  });
  const usage = reading.kind === 'ok' ? reading.usage : estimateUsage(call, 0);
  const delivery = {
    by,
    status: problem.status,
    usage: chargedUsage(usage, by, withoutConversion),
    finishReason: null,
    calls: [],
    firstTokenMs: null,
    dropped: [],
    problem,
    body: '',
  };
  return { delivery, settled: chargeAndRecord(delivery, attempts, gates) };
}

const feesOf = (
  { surcharges, ratesWithoutFees }: PriceView,
  usage: UsageCounts,
  factor: PriceFactor,
): readonly RecordedFee[] | null =>
  surcharges === undefined || ratesWithoutFees === undefined
    ? null
    : feeLines(usage, ratesWithoutFees, surcharges, factor);
