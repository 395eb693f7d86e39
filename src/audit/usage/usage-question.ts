import { DAY_MS, type Fault, fault, HOUR_MS } from '../../kernel';
import type { Span } from '../span';

export const usageGroupings = [
  'model',
  'key',
  'project',
  'supplier',
  'region',
  'end_user',
  'tag',
  'user',
] as const;
export type UsageGrouping = (typeof usageGroupings)[number];

export const usageBuckets = ['hour', 'day', 'month'] as const;
export type UsageBucket = (typeof usageBuckets)[number];

export interface UsageFilter {
  /** The model that served the request. */
  readonly model?: string | null;
  readonly keyId?: number | null;
  /** The key is one of these. */
  readonly keyIds?: readonly number[] | null;
  readonly projectId?: number | null;
  readonly userId?: number | null;
  readonly organisationId?: number | null;
  readonly supplier?: string | null;
  readonly region?: string | null;
  readonly endUser?: string | null;
  readonly tag?: string | null;
}

export interface UsageQuestion {
  readonly from: Date;
  /** It is exclusive. */
  readonly to: Date;
  /** Days and months are those of the zone; hours begin with those of UTC. */
  readonly bucket: UsageBucket;
  readonly zone: string;
  readonly groupBy?: UsageGrouping | null;
  readonly filter?: UsageFilter;
  /** The costliest groups are listed; the others are summed as one. */
  readonly mostGroups?: number;
}

const lengths: Readonly<Record<UsageBucket, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  month: 28 * DAY_MS,
};
const MOST_BUCKETS = 800;

export const endsBeforeItBegins = (): Fault =>
  fault('invalid_request', {
    param: 'to',
    message: 'to must be later than from.',
    details: { reason: 'period-order' },
  });

export function checkUsageQuestion({ from, to, bucket }: UsageQuestion): void {
  if (from >= to) throw endsBeforeItBegins();
  if ((to.getTime() - from.getTime()) / lengths[bucket] > MOST_BUCKETS) {
    throw fault('invalid_request', {
      param: 'bucket',
      message: `The period has more than ${MOST_BUCKETS} buckets of one ${bucket}: ask for a shorter period or larger buckets.`,
      details: { reason: 'period-long', most: MOST_BUCKETS },
    });
  }
}

/** The boundaries of buckets. Sums exist by whole hours and days, so they use the nearest of these. */
export interface Cuts {
  /** The first instant of each bucket, and the end of the last one. */
  readonly borders: readonly Date[];
  /** The same boundaries rounded to the nearest hour, and those rounded to the nearest day of UTC. */
  readonly hours: readonly Date[];
  readonly days: readonly Date[];
}

/** The present hour counts as whole when the period reaches up to now: it has no later records. */
export function cutsOf(starts: readonly Date[], to: Date, now: number): Cuts {
  const end =
    to.getTime() >= now ? new Date(Math.floor((to.getTime() - 1) / HOUR_MS) * HOUR_MS + HOUR_MS) : to;
  const borders = [...starts, end];
  const hours = borders.map((border) => nearest(border, HOUR_MS));
  return { borders, hours, days: hours.map((hour) => nearest(hour, DAY_MS)) };
}

const nearest = (instant: Date, unit: number): Date => new Date(Math.round(instant.getTime() / unit) * unit);

/** A span that belongs to one bucket and was counted in another; 0 is before the first one. */
export interface MovedSpan extends Span {
  readonly bucket: number;
  readonly countedIn: number;
}

/** The spans of one bucket by `borders` and of another by `countedBy`, both in order. */
export function movedBetween(borders: readonly Date[], countedBy: readonly Date[]): MovedSpan[] {
  const edges = [...new Set([...borders, ...countedBy].map(Number))].sort((a, b) => a - b);
  const moved: MovedSpan[] = [];
  let [bucket, countedIn] = [0, 0];
  for (const [at, edge] of edges.entries()) {
    while (Number(borders[bucket]) <= edge) bucket += 1;
    while (Number(countedBy[countedIn]) <= edge) countedIn += 1;
    const to = edges[at + 1];
    if (bucket !== countedIn && to !== undefined)
      moved.push({ from: new Date(edge), to: new Date(to), bucket, countedIn });
  }
  return moved;
}

export const dayOf = (instant: Date): number => Math.floor(instant.getTime() / DAY_MS) * DAY_MS;

/** The parts of a period outside of some days, in the fewest spans. */
export function outsideOf(days: ReadonlySet<number>, { from, to }: Span): Span[] {
  const spans: Span[] = [];
  let begin = from.getTime();
  for (let day = dayOf(from); day < to.getTime(); day += DAY_MS) {
    if (!days.has(day)) continue;
    if (day > begin) spans.push({ from: new Date(begin), to: new Date(day) });
    begin = day + DAY_MS;
  }
  return begin < to.getTime() ? [...spans, { from: new Date(begin), to }] : spans;
}
