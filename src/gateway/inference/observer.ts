import { Injectable } from '@nestjs/common';
import type { AttemptRecord } from '../../audit';
import { completionTokens, formatUsd, fromUnknown, promptTokens } from '../../kernel';
import { Metrics } from '../../platform';
import type { CallFacts } from '../reply/svc-headers';
import type { Answered } from './answered';
import type { Delivery } from './delivery';
import type { Call } from './describe';

/** Counts what became of requests. Names of models are the catalogue's own, so that a caller cannot invent series. */
@Injectable()
export class Observer {
  constructor(private readonly metrics: Metrics) {}

  served(
    call: Call,
    answered: Answered,
    tries: readonly AttemptRecord[],
    delivery: Delivery,
    facts: CallFacts,
  ): void {
    const { metrics } = this;
    const endpoint = call.surface.name;
    const { model } = answered;
    const stream = String(call.stream);
    this.count(endpoint, model, delivery.problem?.status ?? answered.status, delivery.problem?.code ?? '');
    metrics.requestDuration.observe({ endpoint, model, stream }, facts.latencyMs / 1_000);
    if (delivery.firstTokenMs !== null) {
      metrics.timeToFirstToken.observe({ endpoint, model, stream }, delivery.firstTokenMs / 1_000);
    }
    const { usage } = delivery;
    metrics.tokens.inc({ model, type: 'input' }, promptTokens(usage));
    metrics.tokens.inc({ model, type: 'output' }, completionTokens(usage));
    metrics.costUsd.inc(
      { model, provider: facts.supplier, side: 'customer' },
      Number(formatUsd(facts.costNano)),
    );
    if (usage.source === 'estimated') metrics.usageMissing.inc({ provider: facts.supplier });
    this.attempts(tries);
  }

  /** A request that ended without an answer; `model` is empty before it was known to be one. */
  failed(endpoint: string, model: string, error: unknown): void {
    const { status, code } = fromUnknown(error);
    this.count(endpoint, model, status, code);
    if (status < 500) this.metrics.rejections.inc({ reason: code });
  }

  private count(endpoint: string, model: string, status: number, code: string): void {
    this.metrics.requests.inc({
      endpoint,
      model,
      status_class: `${Math.floor(status / 100)}xx`,
      error_code: code,
    });
  }

  private attempts(attempts: readonly AttemptRecord[]): void {
    let failed: AttemptRecord | null = null;
    for (const attempt of attempts) {
      const { supplier: provider, model, region, outcome, milliseconds } = attempt;
      this.metrics.upstreamAttempts.inc({ provider, model, region: region ?? '', outcome });
      this.metrics.upstreamDuration.observe({ provider, model }, milliseconds / 1_000);
      if (failed !== null)
        this.metrics.failovers.inc({ from: failed.supplier, to: provider, reason: failed.outcome });
      failed = attempt;
    }
  }
}
