import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type AttemptRecord, type RecordFacts, Refusals } from '../../audit';
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
import { recordedFor } from '../../keys';
import type { StoredKind } from '../../vendors';
import { AttemptTools, type Delivery, type LaneTry } from '../attempt';
import { type Call, KeptAnswers } from '../intake';
import { soldSound } from '../media/speech';
import { type CallFacts, droppedCounts, droppedNames, setDroppedHeader } from '../reply/svc-headers';
import { StoredIds } from '../stored/stored-ids.service';
import type { SettledFacts } from '../trace/request-trace';
import { type AnswerSample, AnswerSampling } from './answer-sampling';
import { chargedUsage, estimateUsage } from './answer-usage';
import { Observer } from './observer';
import { recorded } from './recorded-gates';
import { recordRefusal } from './refuse';
import type { RequestProgress } from './request-progress';
import { SettledGates } from './settled-gates';

export interface Settled {
  readonly facts: CallFacts;
  /** It settles once charge and record are durable. */
  readonly kept: Promise<void>;
}

/** The end of a request: its charge and record, or the record of its failure. */
@Injectable()
export class Settlement {
  constructor(
    private readonly tools: AttemptTools,
    private readonly kept: KeptAnswers,
    private readonly storedIds: StoredIds,
    private readonly observer: Observer,
    private readonly sampling: AnswerSampling,
    readonly refusals: Refusals,
    readonly escrow: Escrow,
    readonly gates: SettledGates,
  ) {}

  /** Charges what was delivered. What later requests may refer to is durable with it. */
  settle(delivery: Delivery, progress: RequestProgress, answer: Buffer | string | null): Settled {
    const { by, seals = [] } = delivery;
    this.tools.owners.remember(seals, by.route.lane.provider);
    const settled = settle(delivery, progress.tries, this.gates);
    const { facts, kept } = settled;
    progress.trace?.settled(settledFacts(delivery, facts));
    progress.tokens?.ended(facts.inputTokens + facts.outputTokens);
    const { operation, auto, inbound } = by.routed.call;
    const stored = keptBySupplier(delivery);
    if (operation.keepsAnswers !== true && auto === null && stored === null) return settled;
    const recording =
      stored && this.storedIds.record(inbound.caller.keyId, by.route.lane.provider.name, stored);
    return { facts, kept: this.whenKept(delivery, kept, answer, recording) };
  }

  /** The answer has left. */
  served(delivery: Delivery, { tries }: RequestProgress, facts: CallFacts): void {
    this.observer.served(delivery, tries, facts);
  }

  /** A sample of the answer; null for nearly every request. */
  sample(call: Call): AnswerSample | null {
    return this.sampling.begin(call);
  }

  /** The caller left, or the key ended, while a lane was at work. */
  async abandoned(by: LaneTry, asked: Call, progress: RequestProgress, error: unknown): Promise<void> {
    progress.isSettled = true;
    progress.tokens?.ended(asked.inputEstimate);
    const { delivery, settled } = settleAbandoned(by, progress.tries, fromUnknown(error), this.gates);
    progress.trace?.settled(settledFacts(delivery, settled.facts));
    await settled.kept;
  }

  /** Counts a request without an answer, and records it where it was not settled. */
  async failed(progress: RequestProgress, error: unknown, response: ServerResponse): Promise<void> {
    const { http, operation, tries, model, isSettled, dropped } = progress;
    if (!response.headersSent) setDroppedHeader(response, droppedNames(dropped));
    this.observer.failed(operation.name, model, error, tries);
    if (model !== '') http.attempted = { model, supplier: tries.at(-1)?.supplier ?? null };
    if (!isSettled) await recordRefusal(progress, error, this);
  }

  /** Before the last byte leaves, both the settlement and a referable answer are durable. */
  private async whenKept(
    { by, calls }: Delivery,
    account: Promise<void>,
    answer: Buffer | string | null,
    recording: Promise<void> | null,
  ): Promise<void> {
    const { call, model } = by.routed;
    const isKept = call.operation.keepsAnswers === true && answer !== null;
    const keeping = isKept ? this.kept.keep(call, model.name, answer) : undefined;
    const remembering = call.auto?.whenRemembered(calls);
    await account;
    if (keeping !== undefined) await keeping;
    if (recording !== null) await recording;
    if (remembering !== undefined) await remembering;
  }
}

/** The ids of a delivery that outlive it; null if there are none. Suppliers keep responses of the native route only. */
function keptBySupplier({ by, stored }: Delivery): ReadonlyMap<string, StoredKind> | null {
  if (stored === undefined || stored.size === 0) return null;
  const { operation, inbound } = by.routed.call;
  const keepsResponses = operation.untouched === true && inbound.body.store !== false;
  const kept = [...stored].filter(([, kind]) => keepsResponses || (kind !== 'response' && kind !== 'item'));
  return kept.length === 0 ? null : new Map(kept);
}

/** Charges the delivered answer and records it. */
function settle(delivery: Delivery, attempts: readonly AttemptRecord[], gates: SettledGates): Settled {
  const { usage } = delivery;
  const { routed, route, failover } = delivery.by;
  const { lane, price } = route;
  const { call, held } = routed;
  const { inbound } = call;
  const latencyMs = Math.round(monotonicMs() - inbound.startedMs);
  const costNano = costOf(usage, price.rates, inbound.priceFactor);
  const { keyId, userId, organisationId, departmentId, projectId, walletId } = recordedFor(inbound.caller);
  const record: RecordFacts = {
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
    surcharges: feesOf(price, usage, inbound.priceFactor),
    gates: recorded(call.gates),
    excess: usage.excess ?? null,
  };
  const kept = held.hold.settle(record);
  gates.saw(held.hold, record, kept);
  return { facts: factsOf(delivery, latencyMs, costNano), kept };
}

function factsOf({ by, usage, dropped }: Delivery, latencyMs: number, costNano: Nano): CallFacts {
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
    ...(call.auto !== null && { auto: call.auto.told(routed.model.name) }),
    latencyMs,
    inputTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    costNano,
  };
}

const settledFacts = ({ by, usage, firstTokenMs, problem }: Delivery, facts: CallFacts): SettledFacts => ({
  askedModel: by.routed.call.model,
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

const untranslated = { translation: null };

/** A request that its caller or the end of its key broke off is charged for the work that the supplier was sent. */
function settleAbandoned(
  by: LaneTry,
  attempts: readonly AttemptRecord[],
  problem: Fault,
  gates: SettledGates,
): { readonly delivery: Delivery; readonly settled: Settled } {
  const { call } = by.routed;
  const unreported: UsageReading = { kind: 'absent' };
  const reading = soldSound(unreported, call, by.route.price.rates, { sound: null, textBytes: () => 0 });
  const usage = reading.kind === 'ok' ? reading.usage : estimateUsage(call, 0);
  const delivery = {
    by,
    status: problem.status,
    usage: chargedUsage(usage, by, untranslated),
    finishReason: null,
    calls: [],
    firstTokenMs: null,
    dropped: [],
    problem,
    body: '',
  };
  return { delivery, settled: settle(delivery, attempts, gates) };
}

const feesOf = (
  { surcharges, ratesWithoutFees }: PriceView,
  usage: UsageCounts,
  factor: PriceFactor,
): readonly RecordedFee[] | null =>
  surcharges === undefined || ratesWithoutFees === undefined
    ? null
    : feeLines(usage, ratesWithoutFees, surcharges, factor);
