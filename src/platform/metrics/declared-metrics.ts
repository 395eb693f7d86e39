import { Registry } from 'prom-client';
import { CappedCounter, CappedGauge, CappedHistogram } from './capped';

/** Seconds: from an answer out of a cache to the longest call a supplier is given. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1200];

/** A scrape waits for what has to be asked first; a reader ends by itself, and does not fail. */
export type MetricsReader = () => void | Promise<void>;

/** How metrics are declared and read. */
export abstract class DeclaredMetrics {
  readonly registry = new Registry();
  private readonly readers: MetricsReader[] = [];

  /** Called each time before the numbers are read, for those that are not counted as they change. */
  beforeRead(read: MetricsReader): void {
    this.readers.push(read);
  }

  async text(): Promise<string> {
    await this.readAll();
    return this.registry.metrics();
  }

  /** The same, as values. */
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

  /** Where 0 would be a statement: it is absent until it is known. */
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
