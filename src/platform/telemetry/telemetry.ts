import type { OnApplicationShutdown } from '@nestjs/common';
import type { Settings } from '../config';
import type { Logger } from '../logging';
import type { Metrics } from '../metrics';
import type { ModelMetrics } from './model-metrics';
import { ATTRIBUTE } from './conventions';
import type { SpanAttributes } from './open-span';
import type { RunningTelemetry } from './open-telemetry';
import { targetsOf } from './targets';
import type { Traces } from './traces';

const OFF: RunningTelemetry = { traces: null, models: null, stop: () => Promise.resolve() };

/** Traces and metrics by OpenTelemetry, if the operator named a receiver. */
export class Telemetry implements OnApplicationShutdown {
  /** Null if no traces are sent. */
  readonly traces: Traces | null;
  /** Null if no metrics are sent. */
  readonly models: ModelMetrics | null;

  private constructor(private readonly running: RunningTelemetry) {
    this.traces = running.traces;
    this.models = running.models;
  }

  static async start(
    settings: Settings,
    parts: { readonly version: string; readonly metrics: Metrics; readonly logger: Logger },
  ): Promise<Telemetry> {
    const targets = targetsOf(settings);
    if (targets === null) return new Telemetry(OFF);
    const { startOpenTelemetry } = await import('./open-telemetry.js');
    return new Telemetry(startOpenTelemetry(targets, { settings, ...parts }));
  }

  /** Runs work outside a request as a trace of its own, if the sampler takes it. */
  async trace<Result>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const span = this.traces?.startTrace({ name, kind: 'internal' }) ?? null;
    if (span === null) return work();
    for (const [key, value] of Object.entries(attributes)) span.set(key, value);
    try {
      return await work();
    } catch (error) {
      span.set(ATTRIBUTE.errorType, error instanceof Error ? error.name : '_OTHER');
      span.markFailed();
      throw error;
    } finally {
      span.end();
    }
  }

  /** Delivers the rest, within a time limit. */
  onApplicationShutdown(): Promise<void> {
    return this.running.stop();
  }
}
