import type { Metric, MetricValueWithName, Registry } from 'prom-client';

type SampleValue = MetricValueWithName<string> | Omit<MetricValueWithName<string>, 'metricName'>;

export type Labels<Label extends string> = Readonly<Record<Label, string>>;

interface MetricDescription<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
  /** True if a metric without labels is absent until it is set; otherwise it starts at 0. */
  readonly isShownOnceSet?: boolean;
}

const maxSeries = 1_000;
const maxValueLength = 100;

/**
 * Series of one metric by label values; beyond a limit they count as `other`, since values from outside could fill the
 * memory. Kept here, as the library sorts and joins labels on every update.
 */
abstract class MetricSeries<Label extends string, State> {
  private readonly states = new Map<string, { readonly labels: Labels<Label>; readonly state: State }>();

  constructor(
    private readonly type: 'counter' | 'gauge' | 'histogram',
    protected readonly description: MetricDescription<Label>,
  ) {
    const { name, help, labelNames, registry } = description;
    const metric = {
      name,
      help,
      type,
      labelNames,
      get: () => Promise.resolve(this.collect()),
      reset: () => this.states.clear(),
    };
    registry.registerMetric(metric as unknown as Metric<Label>);
  }

  protected abstract createState(): State;
  protected abstract values(labels: Labels<Label>, state: State): SampleValue[];

  /** Returns the series itself, for code that updates it repeatedly. */
  at(labels: Labels<Label>): State {
    let key = '';
    for (const name of this.description.labelNames) key += `${labels[name]}\u0000`;
    const existing = this.states.get(key);
    if (existing !== undefined) return existing.state;
    const { labelNames } = this.description;
    const exceedsLimit =
      this.states.size >= maxSeries || labelNames.some((each) => labels[each].length > maxValueLength);
    return labelNames.length > 0 && exceedsLimit ? this.other() : this.remember(key, labels);
  }

  all(): readonly { readonly labels: Labels<Label>; readonly state: State }[] {
    return [...this.states.values()];
  }

  private other(): State {
    const labels = Object.fromEntries(this.description.labelNames.map((name) => [name, 'other']));
    const key = this.description.labelNames.map(() => 'other\u0000').join('');
    return this.states.get(key)?.state ?? this.remember(key, labels as Labels<Label>);
  }

  private remember(key: string, labels: Labels<Label>): State {
    const { labelNames } = this.description;
    const ordered = Object.fromEntries(labelNames.map((each) => [each, labels[each]])) as Labels<Label>;
    const state = this.createState();
    this.states.set(key, { labels: ordered, state });
    return state;
  }

  private collect() {
    const { name, help, labelNames, isShownOnceSet = false } = this.description;
    if (labelNames.length === 0 && this.states.size === 0 && !isShownOnceSet)
      this.remember('', {} as Labels<Label>);
    const values = [...this.states.values()].flatMap(({ labels, state }) => this.values(labels, state));
    return { name, help, type: this.type, values, aggregator: 'sum' };
  }
}

export interface Sum {
  value: number;
}

abstract class NumberSeries<Label extends string> extends MetricSeries<Label, Sum> {
  protected createState(): Sum {
    return { value: 0 };
  }

  protected values(labels: Labels<Label>, { value }: Sum): SampleValue[] {
    return [{ labels, value }];
  }
}

export class CappedCounter<Label extends string> extends NumberSeries<Label> {
  constructor(description: MetricDescription<Label>) {
    super('counter', description);
  }

  inc(labels: Labels<Label>, by = 1): void {
    this.at(labels).value += by;
  }
}

export class CappedGauge<Label extends string> extends NumberSeries<Label> {
  constructor(description: MetricDescription<Label>) {
    super('gauge', description);
  }

  set(labels: Labels<Label>, value: number): void {
    this.at(labels).value = value;
  }

  add(labels: Labels<Label>, step: number): void {
    this.at(labels).value += step;
  }
}

export class Distribution {
  /** Values per bucket; the last one counts those beyond. */
  readonly counts: number[];
  sum = 0;

  constructor(private readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sum += value;
  }
}

export class CappedHistogram<Label extends string> extends MetricSeries<Label, Distribution> {
  constructor(
    description: MetricDescription<Label>,
    /** Upper bounds, in ascending order. */
    private readonly buckets: readonly number[],
  ) {
    super('histogram', description);
  }

  observe(labels: Labels<Label>, value: number): void {
    this.at(labels).add(value);
  }

  protected createState(): Distribution {
    return new Distribution(this.buckets);
  }

  protected values(labels: Labels<Label>, { counts, sum }: Distribution): SampleValue[] {
    const { name } = this.description;
    let below = 0;
    const buckets = counts.map((count, index) => {
      below += count;
      const le = this.buckets[index] ?? '+Inf';
      return { labels: { le, ...labels }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: below, metricName: `${name}_count` },
    ];
  }
}
