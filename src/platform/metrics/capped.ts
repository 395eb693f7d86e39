import { Counter, Gauge, Histogram, type MetricConfiguration } from 'prom-client';

export type Labels<Label extends string> = Readonly<Record<Label, string>>;

const mostSeries = 1_000;
const longestValue = 100;

/**
 * Bounds the series of one metric. A label value that comes from outside could otherwise fill the memory of
 * this process and of the store behind it; what is over the bound is counted as `other`.
 */
class SeriesCap<Label extends string> {
  private readonly seen = new Set<string>();

  admit(labels: Labels<Label>): Labels<Label> {
    const values: string[] = Object.values(labels);
    const series = values.join('\u0000');
    if (this.seen.has(series)) return labels;
    if (this.seen.size >= mostSeries || values.some((value) => value.length > longestValue)) {
      return Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])) as Labels<Label>;
    }
    this.seen.add(series);
    return labels;
  }
}

export class CappedCounter<Label extends string> {
  private readonly cap = new SeriesCap<Label>();
  private readonly inner: Counter<Label>;

  constructor(configuration: MetricConfiguration<Label>) {
    this.inner = new Counter(configuration);
  }

  inc(labels: Labels<Label>, by = 1): void {
    this.inner.inc(this.cap.admit(labels), by);
  }
}

export class CappedGauge<Label extends string> {
  private readonly cap = new SeriesCap<Label>();
  private readonly inner: Gauge<Label>;

  constructor(configuration: MetricConfiguration<Label>) {
    this.inner = new Gauge(configuration);
  }

  set(labels: Labels<Label>, value: number): void {
    this.inner.set(this.cap.admit(labels), value);
  }

  /** A negative step goes down. */
  add(labels: Labels<Label>, step: number): void {
    this.inner.inc(this.cap.admit(labels), step);
  }
}

export class CappedHistogram<Label extends string> {
  private readonly cap = new SeriesCap<Label>();
  private readonly inner: Histogram<Label>;

  constructor(configuration: MetricConfiguration<Label> & { buckets: number[] }) {
    this.inner = new Histogram(configuration);
  }

  observe(labels: Labels<Label>, value: number): void {
    this.inner.observe(this.cap.admit(labels), value);
  }
}
