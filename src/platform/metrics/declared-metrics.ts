import { Registry } from 'prom-client';
import { CappedCounter, CappedGauge, CappedHistogram } from './capped-metrics';

/** Seconds: from a cached response to the longest supplier call. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1200];

/** A scrape waits for its readers; a reader must end in time and must not fail. */
export type MetricsReader = () => void | Promise<void>;

export abstract class DeclaredMetrics {
  readonly registry = new Registry();
  private readonly readers: MetricsReader[] = [];

  /**
   * Registers a reader that runs each time before the metrics are read, for numbers that are not counted as they
   * change.
   */
  beforeRead(read: MetricsReader): void {
    this.readers.push(read);
  }

  async text(): Promise<string> {
    await this.readAll();
    return this.registry.metrics();
  }

  async values() {
    await this.readAll();
    return this.registry.getMetricsAsJSON();
  }

  protected counter<Label extends string = never>(name: string, help: string, labelNames: Label[]) {
    return new CappedCounter<Label>({ name, help, labelNames, registry: this.registry });
  }

  protected gauge<Label extends string = never>(name: string, help: string, labelNames: Label[]) {
    return new CappedGauge<Label>({ name, help, labelNames, registry: this.registry });
  }

  /** For numbers of which 0 would be misleading: absent until set. */
  protected gaugeOnceSet(name: string, help: string) {
    const { registry } = this;
    return new CappedGauge<never>({ name, help, labelNames: [], registry, isShownOnceSet: true });
  }

  protected histogram<Label extends string = never>(name: string, help: string, labelNames: Label[]) {
    return new CappedHistogram<Label>({ name, help, labelNames, registry: this.registry }, buckets);
  }

  private async readAll(): Promise<void> {
    await Promise.all(this.readers.map(async (read) => read()));
  }
}
