import { Distribution, type Sum } from '../metrics';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A series of a metric: what it is about, and what it has come to since the start. */
export interface Point {
  readonly attributes: Attributes;
  readonly state: Distribution | Sum;
}

export interface Description {
  readonly name: string;
  readonly unit: string;
  readonly text: string;
}

/** One metric. A family without bounds is a sum. */
export interface Family extends Description {
  readonly bounds: readonly number[] | null;
  readonly points: ReadonlyMap<string, Point>;
}

const MOST_POINTS = 1_000;
/** What goes beyond the bound is counted here, as the specification of the SDK says. */
const OVERFLOW: Attributes = { 'otel.metric.overflow': true };

/**
 * Counts of metrics with names as OpenTelemetry has them. An instrument of the SDK sorts and joins the attributes with
 * every value; a place here is looked up once.
 */
export class Cells {
  private readonly families = new Map<string, Family & { readonly points: Map<string, Point> }>();

  histogram(description: Description, bounds: readonly number[], attributes: Attributes): Distribution {
    return this.at(description, bounds, attributes, () => new Distribution(bounds)) as Distribution;
  }

  sum(description: Description, attributes: Attributes): Sum {
    return this.at(description, null, attributes, () => ({ value: 0 })) as Sum;
  }

  all(): Iterable<Family> {
    return this.families.values();
  }

  private at(
    description: Description,
    bounds: readonly number[] | null,
    attributes: Attributes,
    make: () => Point['state'],
  ): Point['state'] {
    let family = this.families.get(description.name);
    if (family === undefined) {
      family = { ...description, bounds, points: new Map<string, Point>() };
      this.families.set(description.name, family);
    }
    const { points } = family;
    const key = JSON.stringify(attributes);
    const known = points.get(key);
    if (known !== undefined) return known.state;
    if (points.size >= MOST_POINTS && attributes !== OVERFLOW)
      return this.at(description, bounds, OVERFLOW, make);
    const point = { attributes, state: make() };
    points.set(key, point);
    return point.state;
  }
}
