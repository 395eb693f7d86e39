import { Injectable, Logger } from '@nestjs/common';
import type { AttemptRecord } from '../../audit';
import type { LaneView } from '../../catalogue';
import { completionTokens, fromUnknown, MINUTE_MS, monotonicMs, promptTokens } from '../../kernel';
import { type Distribution, Metrics, type Sum } from '../../platform';
import { type Delivery, failoversIn, type LaneAttempt } from '../attempt';
import type { CallSummary } from '../reply/svc-headers';
import { findUnpricedFee } from './answer-usage';

interface SuccessSeries {
  readonly requests: Sum;
  readonly duration: Distribution;
  readonly input: Sum;
  readonly output: Sum;
  readonly cost: Sum;
  readonly attempts: Sum;
  readonly upstream: Distribution;
}

const NANO_PER_USD = 1e9;
const WARNING_INTERVAL_MS = MINUTE_MS;
const MAX_WARNINGS = 1_000;

/** Counts the outcomes of requests. Model labels are the catalogue's names, so that callers cannot create series. */
@Injectable()
export class RequestMetrics {
  /** Cached because a lookup by labels costs more than an increment. */
  private readonly series = new WeakMap<LaneView, Map<string, SuccessSeries>>();
  private readonly streamSeries = new WeakMap<LaneView, Map<string, SuccessSeries>>();

  private readonly logger = new Logger(RequestMetrics.name);
  private readonly quietUntil = new Map<string, number>();

  constructor(private readonly metrics: Metrics) {}

  served(delivery: Delivery, tries: readonly AttemptRecord[], facts: CallSummary): void {
    const { metrics } = this;
    const { by, usage, problem, firstTokenMs } = delivery;
    const series = this.seriesFor(by);
    if (problem === null) series.requests.value += 1;
    else {
      const { call, model } = by.routed;
      this.count(call.operation.name, model.name, problem.status, problem.outcome);
    }
    series.duration.add(facts.latencyMs / 1_000);
    if (firstTokenMs !== null) metrics.timeToFirstToken.observe(labelsOf(by), firstTokenMs / 1_000);
    series.input.value += promptTokens(usage);
    series.output.value += completionTokens(usage);
    series.cost.value += Number(facts.costNano) / NANO_PER_USD;
    this.warnOfUnpricedFee(delivery);
    this.warnOfDoubtfulUsage(delivery);
    if (usage.source === 'estimated') metrics.usageMissing.inc({ provider: facts.supplier });
    const only = tries.length === 1 ? tries[0]! : null;
    if (only?.outcome !== 'answered') return this.attempts(tries);
    series.attempts.value += 1;
    series.upstream.add(only.milliseconds / 1_000);
  }

  /** Counts a request without a response; `model` is empty if the model was not resolved. */
  failed(endpoint: string, model: string, error: unknown, tries: readonly AttemptRecord[]): void {
    const { status, code, outcome } = fromUnknown(error);
    this.attempts(tries);
    this.count(endpoint, model, status, outcome);
    if (tries.length === 0 && outcome === code) this.metrics.rejections.inc({ reason: code });
  }

  private warnOfUnpricedFee({ by, usage }: Delivery): void {
    const { lane, price } = by.route;
    const fee = findUnpricedFee(usage, price.rates);
    if (fee === null) return;
    const provider = lane.provider.name;
    this.metrics.unpricedFees.inc({ provider, model: lane.upstreamModel });
    this.warn(
      `${provider} billed ${fee} for ${lane.upstreamModel}, of which price ${price.id} says nothing: the dearest rate it has was charged`,
    );
  }

  private warnOfDoubtfulUsage({ by, usage }: Delivery): void {
    const { doubt, ignored, excess } = usage;
    if (doubt === undefined && ignored === undefined && excess === undefined) return;
    const { lane } = by.route;
    const [provider, model] = [lane.provider.name, lane.upstreamModel];
    const { metrics } = this;
    if (doubt !== undefined) {
      metrics.doubtfulUsage.inc({ provider, model });
      this.warn(
        `the usage that ${provider} reported for ${model} looks wrong (${doubt}): its larger figures were charged, up to the hold`,
      );
    }
    for (const field of ignored ?? []) {
      metrics.ignoredUsageDetails.inc({ provider, model, field });
      this.warn(
        `${field} in the usage that ${provider} reported for ${model} is not a count: it was ignored, and the rest charged`,
      );
    }
    for (const kind of Object.keys(excess ?? {})) {
      metrics.excessUsage.inc({ provider, model, kind });
      this.warn(
        `${provider} reported more ${kind} for ${model} than was requested or held for: the excess is in the record of the request and was not charged`,
      );
    }
  }

  /** Logs each message at most once per interval, so that one lane's errors do not hide another's. */
  private warn(message: string): void {
    const now = monotonicMs();
    if (now < (this.quietUntil.get(message) ?? 0)) return;
    if (this.quietUntil.size >= MAX_WARNINGS) this.quietUntil.clear();
    this.quietUntil.set(message, now + WARNING_INTERVAL_MS);
    this.logger.warn(message);
  }

  private seriesFor(by: LaneAttempt): SuccessSeries {
    const { lane } = by.route;
    const { call } = by.routed;
    const { name } = call.operation;
    const known = call.stream ? this.streamSeries : this.series;
    let laneSeries = known.get(lane);
    if (laneSeries === undefined) known.set(lane, (laneSeries = new Map<string, SuccessSeries>()));
    let series = laneSeries.get(name);
    if (series === undefined) laneSeries.set(name, (series = this.createSeries(by)));
    return series;
  }

  private createSeries(by: LaneAttempt): SuccessSeries {
    const { metrics } = this;
    const labels = labelsOf(by);
    const { endpoint, model } = labels;
    const { lane } = by.route;
    const provider = lane.provider.name;
    const { upstreamModel, region } = lane;
    return {
      requests: metrics.requests.at({ endpoint, model, status_class: '2xx', error_code: '' }),
      duration: metrics.requestDuration.at(labels),
      input: metrics.tokens.at({ model, type: 'input' }),
      output: metrics.tokens.at({ model, type: 'output' }),
      cost: metrics.costUsd.at({ model, provider, side: 'customer' }),
      attempts: metrics.upstreamAttempts.at({
        provider,
        model: upstreamModel,
        region: region ?? '',
        outcome: 'answered',
      }),
      upstream: metrics.upstreamDuration.at({ provider, model: upstreamModel }),
    };
  }

  private count(endpoint: string, model: string, status: number, outcome: string): void {
    this.metrics.requests.inc({
      endpoint,
      model,
      status_class: `${Math.floor(status / 100)}xx`,
      error_code: outcome,
    });
  }

  private attempts(attempts: readonly AttemptRecord[]): void {
    for (const attempt of attempts) {
      const { supplier: provider, model, region, outcome, milliseconds } = attempt;
      this.metrics.upstreamAttempts.inc({ provider, model, region: region ?? '', outcome });
      this.metrics.upstreamDuration.observe({ provider, model }, milliseconds / 1_000);
    }
    for (const { from, to } of failoversIn(attempts))
      this.metrics.failovers.inc({ from: from.supplier, to: to.supplier, reason: from.outcome });
  }
}

const labelsOf = ({
  routed: { call, model },
}: LaneAttempt): Record<'endpoint' | 'model' | 'stream', string> => ({
  endpoint: call.operation.name,
  model: model.name,
  stream: String(call.stream),
});
