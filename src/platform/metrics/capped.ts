import type { Metric, MetricValueWithName, Registry } from 'prom-client';

type Value = MetricValueWithName<string> | Omit<MetricValueWithName<string>, 'metricName'>;

export type Labels<Label extends string> = Readonly<Record<Label, string>>;

interface Description<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
  /** Without labels a series is shown as 0 from the start; such a one only once it was set. */
  readonly isShownOnceSet?: boolean;
}

const mostSeries = 1_000;
const longestValue = 100;

/**
 * The series of one metric, by label values. Their number is bounded, since values from outside could fill the
 * memory; further ones count as `other`. They are kept here, as the library sorts and joins labels on every update.
 */
abstract class Series<Label extends string, State> {
  private readonly states = new Map<string, { readonly labels: Labels<Label>; readonly state: State }>();

  constructor(
    private readonly type: 'counter' | 'gauge' | 'histogram',
    protected readonly description: Description<Label>,
  ) {
    const { name, help, labelNames, registry } = description;
    const shown = {
      name,
      help,
      type,
      labelNames,
      get: () => Promise.resolve(this.show()),
      reset: () => this.states.clear(),
    };
    registry.registerMetric(shown as unknown as Metric<Label>);
  }

  protected abstract begin(): State;
  protected abstract values(labels: Labels<Label>, state: State): Value[];

  /** The series itself, for code that adds to the same one again and again. */
  at(labels: Labels<Label>): State {
    let key = '';
    for (const name of this.description.labelNames) key += `${labels[name]}\u0000`;
    const known = this.states.get(key);
    if (known !== undefined) return known.state;
    const { labelNames } = this.description;
    const isTooMuch =
      this.states.size >= mostSeries || labelNames.some((each) => labels[each].length > longestValue);
    return labelNames.length > 0 && isTooMuch ? this.other() : this.remember(key, labels);
  }

  /** What was counted since this process started. */
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
    const state = this.begin();
    this.states.set(key, { labels: ordered, state });
    return state;
  }

  private show() {
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

abstract class Numbers<Label extends string> extends Series<Label, Sum> {
  protected begin(): Sum {
    return { value: 0 };
  }

  protected values(labels: Labels<Label>, { value }: Sum): Value[] {
    return [{ labels, value }];
  }
}

export class CappedCounter<Label extends string> extends Numbers<Label> {
  constructor(description: Description<Label>) {
    super('counter', description);
  }

  inc(labels: Labels<Label>, by = 1): void {
    this.at(labels).value += by;
  }
}

export class CappedGauge<Label extends string> extends Numbers<Label> {
  constructor(description: Description<Label>) {
    super('gauge', description);
  }

  set(labels: Labels<Label>, value: number): void {
    this.at(labels).value = value;
  }

  /** A negative step goes down. */
  add(labels: Labels<Label>, step: number): void {
    this.at(labels).value += step;
  }
}

export class Distribution {
  /** Each bucket counts those that fell into it; the last one counts those beyond. */
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

export class CappedHistogram<Label extends string> extends Series<Label, Distribution> {
  constructor(
    description: Description<Label>,
    /** They are upper bounds, the lowest first. */
    private readonly buckets: readonly number[],
  ) {
    super('histogram', description);
  }

  observe(labels: Labels<Label>, value: number): void {
    this.at(labels).add(value);
  }

  protected begin(): Distribution {
    return new Distribution(this.buckets);
  }

  protected values(labels: Labels<Label>, { counts, sum }: Distribution): Value[] {
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
