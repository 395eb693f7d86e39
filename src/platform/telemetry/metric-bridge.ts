import { type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { Distribution, type Metrics } from '../metrics';
import type { MetricAttributes, MetricStore, InstrumentDescription } from './metric-store';
import { hrTime } from './open-span';

interface Buckets {
  readonly counts: readonly number[];
  readonly sum: number;
}

interface AttributedValue<Value> {
  readonly attributes: MetricAttributes;
  readonly value: Value;
}

type PromValue = { readonly labels: Readonly<Record<string, string | number>>; readonly value: number } & {
  readonly metricName?: string;
};

interface PromMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly PromValue[];
}

/**
 * Passes the product's counts to the SDK's reader: the metrics of `/metrics`, and those of the GenAI conventions. The
 * reader sends the values unchanged, so deltas are computed here.
 */
export class MetricBridge implements MetricProducer {
  private readonly startedAt: HrTime;
  private lastAt: HrTime;
  private readonly lastSent = new Map<string, number | Buckets>();

  constructor(
    private readonly scope: string,
    private readonly cells: MetricStore,
    private readonly metrics: Metrics,
    private readonly isDelta: boolean,
  ) {
    this.startedAt = this.lastAt = hrTime(Date.now() - process.uptime() * 1_000);
  }

  async collect(): Promise<CollectionResult> {
    const now = hrTime(Date.now());
    const metrics = [...this.modelMetrics(now), ...(await this.ownMetrics(now))];
    this.lastAt = now;
    return {
      resourceMetrics: {
        resource: emptyResource(),
        scopeMetrics: [{ scope: { name: this.scope }, metrics }],
      },
      errors: [],
    };
  }

  private modelMetrics(now: HrTime): MetricData[] {
    return [...this.cells.all()].map((family) => {
      const points = [...family.points.values()];
      if (family.bounds === null)
        return this.sums(
          family,
          now,
          points.map(({ attributes, state }) => ({ attributes, value: 'value' in state ? state.value : 0 })),
        );
      return this.histograms(
        family,
        family.bounds,
        now,
        points.flatMap(({ attributes, state }) =>
          state instanceof Distribution
            ? [{ attributes, value: { counts: [...state.counts], sum: state.sum } }]
            : [],
        ),
      );
    });
  }

  private async ownMetrics(now: HrTime): Promise<MetricData[]> {
    const all = (await this.metrics.values()) as unknown as readonly PromMetric[];
    return all.flatMap((metric): MetricData[] => {
      const description = { name: metric.name, unit: unitOf(metric.name), text: metric.help };
      const plain = metric.values.map(({ labels, value }) => ({ attributes: labels, value }));
      switch (metric.type) {
        case 'counter':
          return [this.sums(description, now, plain)];
        case 'gauge':
          return [this.gauge(description, now, plain)];
        case 'histogram': {
          const { bounds, series } = bucketsIn(metric);
          return [this.histograms(description, bounds, now, series)];
        }
        // The product has no summaries.
        default:
          return [];
      }
    });
  }

  private gauge(
    description: InstrumentDescription,
    now: HrTime,
    series: readonly AttributedValue<number>[],
  ): MetricData {
    return {
      descriptor: descriptorOf(description),
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: series.map(({ attributes, value }) => this.point(attributes, value, now, this.startedAt)),
    };
  }

  private sums(
    description: InstrumentDescription,
    now: HrTime,
    series: readonly AttributedValue<number>[],
  ): MetricData {
    return {
      descriptor: descriptorOf(description),
      aggregationTemporality: this.temporality,
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: series.map(({ attributes, value }) =>
        this.point(attributes, this.sinceLastSent(description, attributes, value, subtractNumbers), now),
      ),
    };
  }

  private histograms(
    description: InstrumentDescription,
    bounds: readonly number[],
    now: HrTime,
    series: readonly AttributedValue<Buckets>[],
  ): MetricData {
    return {
      descriptor: descriptorOf(description),
      aggregationTemporality: this.temporality,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: series.map(({ attributes, value }) => {
        const { counts, sum } = this.sinceLastSent(description, attributes, value, subtractBuckets);
        const histogram: Histogram = {
          buckets: { boundaries: [...bounds], counts: [...counts] },
          sum,
          count: counts.reduce((all, count) => all + count, 0),
        };
        return this.point(attributes, histogram, now);
      }),
    };
  }

  private get temporality(): AggregationTemporality {
    return this.isDelta ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
  }

  private sinceLastSent<Value extends number | Buckets>(
    { name }: InstrumentDescription,
    attributes: MetricAttributes,
    value: Value,
    subtract: (value: Value, before: Value) => Value,
  ): Value {
    if (!this.isDelta) return value;
    const key = name + JSON.stringify(attributes);
    const previous = this.lastSent.get(key) as Value | undefined;
    this.lastSent.set(key, value);
    return previous === undefined ? value : subtract(value, previous);
  }

  private point<Value>(
    attributes: MetricAttributes,
    value: Value,
    endTime: HrTime,
    startTime = this.isDelta ? this.lastAt : this.startedAt,
  ): DataPoint<Value> {
    return { attributes, value, startTime, endTime };
  }
}

const subtractNumbers = (value: number, previous: number): number => value - previous;
const subtractBuckets = (value: Buckets, previous: Buckets): Buckets => ({
  counts: value.counts.map((count, index) => count - (previous.counts[index] ?? 0)),
  sum: value.sum - previous.sum,
});

const descriptorOf = ({ name, unit, text }: InstrumentDescription): MetricData['descriptor'] => ({
  name,
  description: text,
  unit,
  valueType: ValueType.DOUBLE,
});

const unitOf = (name: string): string =>
  /_seconds(_total)?$/.test(name) ? 's' : /_bytes$/.test(name) ? 'By' : '';

/** Counts per bucket, no longer cumulative, for each set of labels. */
function bucketsIn({ name, values }: PromMetric): { bounds: number[]; series: AttributedValue<Buckets>[] } {
  const bounds = new Set<number>();
  const seriesByLabels = new Map<
    string,
    { attributes: MetricAttributes; counts: number[]; sum: number; below: number }
  >();
  for (const { labels, value, metricName } of values) {
    const { le, ...attributes } = labels;
    const key = JSON.stringify(attributes);
    let series = seriesByLabels.get(key);
    if (series === undefined)
      seriesByLabels.set(key, (series = { attributes, counts: [], sum: 0, below: 0 }));
    if (metricName === `${name}_sum`) series.sum = value;
    if (metricName !== `${name}_bucket`) continue;
    series.counts.push(value - series.below);
    series.below = value;
    if (le !== '+Inf') bounds.add(Number(le));
  }
  return {
    bounds: [...bounds],
    series: [...seriesByLabels.values()].map(({ attributes, counts, sum }) => ({
      attributes,
      value: { counts, sum },
    })),
  };
}
