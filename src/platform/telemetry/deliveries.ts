import { createNoopMeter, type MeterProvider } from '@opentelemetry/api';
import type { ExportResult } from '@opentelemetry/core';
import type { Logger } from '../logging';
import type { Metrics } from '../metrics';

type Signal = 'traces' | 'metrics';

interface Exporter<Item> {
  export(items: Item, done: (result: ExportResult) => void): void;
}

/**
 * Observes the outcome of deliveries. An unavailable receiver is logged once, and once more when it is back; in between
 * its failures are counted.
 */
export class DeliveryWatch {
  private failures = 0;

  constructor(
    private readonly signal: Signal,
    private readonly url: string,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Returns the exporter with its deliveries observed. */
  observe<Item, Watched extends Exporter<Item>>(exporter: Watched): Watched {
    const deliver = exporter.export.bind(exporter);
    exporter.export = (items: Item, done: (result: ExportResult) => void): void =>
      deliver(items, (result) => {
        // The package uses 0 for success, and is loaded only if something is sent.
        this.onResult(Number(result.code) === 0 ? null : (result.error ?? new Error('it was not taken')));
        done(result);
      });
    return exporter;
  }

  private onResult(error: Error | null): void {
    const { signal, logger } = this;
    this.metrics.telemetryExports.inc({ signal, outcome: error === null ? 'sent' : 'failed' });
    const receiver = new URL(this.url).host;
    if (error === null) {
      if (this.failures > 0) logger.info(`${signal} are delivered again`, { receiver, lost: this.failures });
      this.failures = 0;
      return;
    }
    this.failures += 1;
    if (this.failures === 1)
      logger.warn(`${signal} cannot be delivered`, { receiver, reason: reasonOf(error) });
  }
}

/** Message and status or code; other text of a receiver does not belong in the log. */
function reasonOf(error: Error): string {
  const code: unknown = Reflect.get(error, 'code');
  const isCode = typeof code === 'number' || (typeof code === 'string' && !error.message.includes(code));
  return [error.message, ...(isCode ? [String(code)] : [])].join(', ') || error.name;
}

/** Counter with which the SDK counts finished spans: https://opentelemetry.io/docs/specs/semconv/otel/sdk-metrics/ */
const PROCESSED = 'otel.sdk.processor.span.processed';

/** Counts the outcomes of spans. */
export function spanCounts(metrics: Metrics): MeterProvider {
  const counter = {
    add(count: number, attributes?: object): void {
      const error: unknown = attributes && Reflect.get(attributes, 'error.type');
      const outcome = error === undefined ? 'sent' : error === 'queue_full' ? 'dropped' : 'failed';
      metrics.telemetrySpans.inc({ outcome }, count);
    },
  };
  const noop = createNoopMeter();
  const meter = Object.create(noop, {
    createCounter: { value: (name: string) => (name === PROCESSED ? counter : noop.createCounter(name)) },
  }) as typeof noop;
  return { getMeter: () => meter };
}
