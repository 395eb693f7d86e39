import { DAY_MS, type Fault, fault, HOUR_MS } from '../../kernel';
import type { TimeSpan } from '../span';

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
  readonly model?: string | null;
  readonly keyId?: number | null;
  readonly keyIds?: readonly number[] | null;
  readonly projectId?: number | null;
  readonly userId?: number | null;
  readonly organisationId?: number | null;
  readonly supplier?: string | null;
  readonly region?: string | null;
  readonly endUser?: string | null;
  readonly tag?: string | null;
}

export interface UsageRequest {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** Days and months are those of the zone; hours are those of UTC. */
  readonly bucket: UsageBucket;
  readonly zone: string;
  readonly groupBy?: UsageGrouping | null;
  readonly filter?: UsageFilter;
  /** Number of groups listed, most expensive first; the others are summed as one. */
  readonly mostGroups?: number;
}

const bucketLengths: Readonly<Record<UsageBucket, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  month: 28 * DAY_MS,
};
const MAX_BUCKETS = 800;

export const periodOrderFault = (): Fault =>
  fault('invalid_request', {
    param: 'to',
    message: 'to must be later than from.',
    details: { reason: 'period-order' },
  });

export function checkUsageRequest({ from, to, bucket }: UsageRequest): void {
  if (from >= to) throw periodOrderFault();
  if ((to.getTime() - from.getTime()) / bucketLengths[bucket] > MAX_BUCKETS) {
    throw fault('invalid_request', {
      param: 'bucket',
      message: `The period has more than ${MAX_BUCKETS} buckets of one ${bucket}: ask for a shorter period or larger buckets.`,
      details: { reason: 'period-long', most: MAX_BUCKETS },
    });
  }
}

/** Boundaries of buckets. Sums exist for full hours and days, so the nearest of these are used. */
export interface BucketBoundaries {
  /** Start of each bucket, and end of the last one. */
  readonly borders: readonly Date[];
  readonly hours: readonly Date[];
  readonly days: readonly Date[];
}

/** The current hour counts as complete if the period reaches up to now, because it has no later records. */
export function boundariesOf(starts: readonly Date[], to: Date, now: number): BucketBoundaries {
  const end =
    to.getTime() >= now ? new Date(Math.floor((to.getTime() - 1) / HOUR_MS) * HOUR_MS + HOUR_MS) : to;
  const borders = [...starts, end];
  const hours = borders.map((border) => nearest(border, HOUR_MS));
  return { borders, hours, days: hours.map((hour) => nearest(hour, DAY_MS)) };
}

const nearest = (instant: Date, unit: number): Date => new Date(Math.round(instant.getTime() / unit) * unit);

/** A span that belongs to one bucket and was counted in another; 0 is before the first one. */
export interface MovedSpan extends TimeSpan {
  readonly bucket: number;
  readonly countedIn: number;
}

export function movedBetween(borders: readonly Date[], countedBy: readonly Date[]): MovedSpan[] {
  const edges = [...new Set([...borders, ...countedBy].map(Number))].sort((a, b) => a - b);
  const moved: MovedSpan[] = [];
  let [bucket, countedIn] = [0, 0];
  for (const [index, edge] of edges.entries()) {
    while (Number(borders[bucket]) <= edge) bucket += 1;
    while (Number(countedBy[countedIn]) <= edge) countedIn += 1;
    const to = edges[index + 1];
    if (bucket !== countedIn && to !== undefined)
      moved.push({ from: new Date(edge), to: new Date(to), bucket, countedIn });
  }
  return moved;
}

export const dayOf = (instant: Date): number => Math.floor(instant.getTime() / DAY_MS) * DAY_MS;

export function outsideOf(days: ReadonlySet<number>, { from, to }: TimeSpan): TimeSpan[] {
  const spans: TimeSpan[] = [];
  let start = from.getTime();
  for (let day = dayOf(from); day < to.getTime(); day += DAY_MS) {
    if (!days.has(day)) continue;
    if (day > start) spans.push({ from: new Date(start), to: new Date(day) });
    start = day + DAY_MS;
  }
  return start < to.getTime() ? [...spans, { from: new Date(start), to }] : spans;
}
