import type { OnApplicationShutdown } from '@nestjs/common';
import type { Settings } from '../config';
import type { Logger } from '../logging';
import type { Metrics } from '../metrics';
import type { ModelMetrics } from './model-metrics';
import { ATTRIBUTE } from './conventions';
import type { Told } from './open-span';
import type { Running } from './open-telemetry';
import { targetsOf } from './targets';
import type { Traces } from './traces';

const OFF: Running = { traces: null, models: null, stop: () => Promise.resolve() };

/** Traces and metrics by OpenTelemetry, where the operator named a receiver. */
export class Telemetry implements OnApplicationShutdown {
  /** Null: no traces are sent. */
  readonly traces: Traces | null;
  /** Null: no metrics are sent. */
  readonly models: ModelMetrics | null;

  private constructor(private readonly running: Running) {
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

  /** Work that no request asks for is a trace of its own, where the sampler takes it. */
  async within<Result>(name: string, facts: Told, work: () => Promise<Result>): Promise<Result> {
    const span = this.traces?.begin({ name, kind: 'internal' }) ?? null;
    if (span === null) return work();
    for (const [fact, value] of Object.entries(facts)) span.set(fact, value);
    try {
      return await work();
    } catch (error) {
      span.set(ATTRIBUTE.errorType, error instanceof Error ? error.name : '_OTHER');
      span.failed();
      throw error;
    } finally {
      span.end();
    }
  }

  /** What is left is delivered, within a bound. */
  onApplicationShutdown(): Promise<void> {
    return this.running.stop();
  }
}
