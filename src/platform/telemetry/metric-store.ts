import { Distribution, type Sum } from '../metrics';

export type MetricAttributes = Readonly<Record<string, string | number | boolean>>;

/** A series of a metric: its attributes, and its state since the start. */
export interface Point {
  readonly attributes: MetricAttributes;
  readonly state: Distribution | Sum;
}

export interface InstrumentDescription {
  readonly name: string;
  readonly unit: string;
  readonly text: string;
}

/** A metric; a sum if there are no bounds. */
export interface InstrumentFamily extends InstrumentDescription {
  readonly bounds: readonly number[] | null;
  readonly points: ReadonlyMap<string, Point>;
}

const MAX_POINTS = 1_000;
/** Counts points beyond the limit, as the specification of the SDK requires. */
const OVERFLOW: MetricAttributes = { 'otel.metric.overflow': true };

/**
 * Counts metrics under OpenTelemetry names. Instruments of the SDK sort and join the attributes with every value; a
 * point here is looked up once.
 */
export class MetricStore {
  private readonly families = new Map<string, InstrumentFamily & { readonly points: Map<string, Point> }>();

  histogram(
    description: InstrumentDescription,
    bounds: readonly number[],
    attributes: MetricAttributes,
  ): Distribution {
    return this.at(description, bounds, attributes, () => new Distribution(bounds)) as Distribution;
  }

  sum(description: InstrumentDescription, attributes: MetricAttributes): Sum {
    return this.at(description, null, attributes, () => ({ value: 0 })) as Sum;
  }

  all(): Iterable<InstrumentFamily> {
    return this.families.values();
  }

  private at(
    description: InstrumentDescription,
    bounds: readonly number[] | null,
    attributes: MetricAttributes,
    make: () => Point['state'],
  ): Point['state'] {
    let family = this.families.get(description.name);
    if (family === undefined) {
      family = { ...description, bounds, points: new Map<string, Point>() };
      this.families.set(description.name, family);
    }
    const { points } = family;
    const key = JSON.stringify(attributes);
    const existing = points.get(key);
    if (existing !== undefined) return existing.state;
    if (points.size >= MAX_POINTS && attributes !== OVERFLOW)
      return this.at(description, bounds, OVERFLOW, make);
    const point = { attributes, state: make() };
    points.set(key, point);
    return point.state;
  }
}
