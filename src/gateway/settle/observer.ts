import { Injectable, Logger } from '@nestjs/common';
import type { AttemptRecord } from '../../audit';
import type { LaneView } from '../../catalogue';
import { completionTokens, fromUnknown, MINUTE_MS, monotonicMs, promptTokens } from '../../kernel';
import { type Distribution, Metrics, type Sum } from '../../platform';
import { type Delivery, failoversIn, type LaneTry } from '../attempt';
import type { CallFacts } from '../reply/svc-headers';
import { unforeseenFee } from './answer-usage';

/** The metric series that a success on the first lane updates. */
interface Usual {
  readonly requests: Sum;
  readonly duration: Distribution;
  readonly input: Sum;
  readonly output: Sum;
  readonly cost: Sum;
  readonly attempts: Sum;
  readonly upstream: Distribution;
}

const NANO_PER_USD = 1e9;
/** A trouble that goes on for hours is one line a minute. */
const QUIET_MS = MINUTE_MS;
const MOST_MESSAGES = 1_000;

/** Counts what became of requests. Names of models are the catalogue's own, so that a caller cannot invent series. */
@Injectable()
export class Observer {
  /** Looking a series up by its labels costs more than adding to it. */
  private readonly known = new WeakMap<LaneView, Map<string, Usual>>();
  private readonly knownOfStreams = new WeakMap<LaneView, Map<string, Usual>>();

  private readonly logger = new Logger(Observer.name);
  /** Each kind of alert is quiet until then. */
  private readonly quietUntil = new Map<string, number>();

  constructor(private readonly metrics: Metrics) {}

  served(delivery: Delivery, tries: readonly AttemptRecord[], facts: CallFacts): void {
    const { metrics } = this;
    const { by, usage, problem, firstTokenMs } = delivery;
    const usual = this.usualOf(by);
    if (problem === null) usual.requests.value += 1;
    else {
      const { call, model } = by.routed;
      this.count(call.operation.name, model.name, problem.status, problem.outcome);
    }
    usual.duration.add(facts.latencyMs / 1_000);
    if (firstTokenMs !== null) metrics.timeToFirstToken.observe(labelsOf(by), firstTokenMs / 1_000);
    usual.input.value += promptTokens(usage);
    usual.output.value += completionTokens(usage);
    usual.cost.value += Number(facts.costNano) / NANO_PER_USD;
    this.alertUnforeseen(delivery);
    this.alertDoubtful(delivery);
    if (usage.source === 'estimated') metrics.usageMissing.inc({ provider: facts.supplier });
    const only = tries.length === 1 ? tries[0]! : null;
    if (only?.outcome !== 'answered') return this.attempts(tries);
    usual.attempts.value += 1;
    usual.upstream.add(only.milliseconds / 1_000);
  }

  /** A request without an answer; `model` is empty before the model was known. */
  failed(endpoint: string, model: string, error: unknown, tries: readonly AttemptRecord[]): void {
    const { status, code, outcome } = fromUnknown(error);
    this.attempts(tries);
    this.count(endpoint, model, status, outcome);
    if (tries.length === 0 && outcome === code) this.metrics.rejections.inc({ reason: code });
  }

  /** A supplier billed an item without a price: charged at the dearest rate of its kind. */
  private alertUnforeseen({ by, usage }: Delivery): void {
    const { lane, price } = by.route;
    const fee = unforeseenFee(usage, price.rates);
    if (fee === null) return;
    const provider = lane.provider.name;
    this.metrics.unpricedFees.inc({ provider, model: lane.upstreamModel });
    this.warn(
      `${provider} billed ${fee} for ${lane.upstreamModel}, of which price ${price.id} says nothing: the dearest rate it has was charged`,
    );
  }

  /** A supplier's report contradicts itself, has unusable details, or goes beyond the request. */
  private alertDoubtful({ by, usage }: Delivery): void {
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

  /** Each message once in a while, so that one lane's mistakes do not hide those of another. */
  private warn(message: string): void {
    const now = monotonicMs();
    if (now < (this.quietUntil.get(message) ?? 0)) return;
    if (this.quietUntil.size >= MOST_MESSAGES) this.quietUntil.clear();
    this.quietUntil.set(message, now + QUIET_MS);
    this.logger.warn(message);
  }

  private usualOf(by: LaneTry): Usual {
    const { lane } = by.route;
    const { call } = by.routed;
    const { name } = call.operation;
    const known = call.stream ? this.knownOfStreams : this.known;
    let ofLane = known.get(lane);
    if (ofLane === undefined) known.set(lane, (ofLane = new Map<string, Usual>()));
    let usual = ofLane.get(name);
    if (usual === undefined) ofLane.set(name, (usual = this.seriesOf(by)));
    return usual;
  }

  private seriesOf(by: LaneTry): Usual {
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

const labelsOf = ({ routed: { call, model } }: LaneTry): Record<'endpoint' | 'model' | 'stream', string> => ({
  endpoint: call.operation.name,
  model: model.name,
  stream: String(call.stream),
});
