import { fault } from '../../kernel';

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
  /** As it was asked for, or as it was served. */
  readonly model?: string | null;
  readonly keyId?: number | null;
  readonly projectId?: number | null;
  readonly userId?: number | null;
  readonly supplier?: string | null;
  readonly region?: string | null;
  readonly endUser?: string | null;
  readonly tag?: string | null;
}

export interface UsageQuestion {
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
  /** Days and months are those of the zone; hours begin with those of UTC. */
  readonly bucket: UsageBucket;
  readonly zone: string;
  readonly groupBy?: UsageGrouping | null;
  readonly filter?: UsageFilter;
  /** The groups that cost most are told apart; the others are summed as one. */
  readonly mostGroups?: number;
}

const HOUR_MS = 3_600_000;
const lengths: Readonly<Record<UsageBucket, number>> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  month: 28 * 24 * HOUR_MS,
};
const MOST_BUCKETS = 800;

export function checkUsageQuestion({ from, to, bucket }: UsageQuestion): void {
  if (from >= to) throw fault('invalid_request', { param: 'to', message: 'to must be later than from.' });
  if ((to.getTime() - from.getTime()) / lengths[bucket] > MOST_BUCKETS) {
    throw fault('invalid_request', {
      param: 'bucket',
      message: `The period has more than ${MOST_BUCKETS} buckets of one ${bucket}: ask for a shorter period or larger buckets.`,
    });
  }
}

/** Where a period is cut. Hours of usage know whole hours alone, so they go by the nearest of these. */
export interface Cuts {
  /** The first instant of each bucket, and the end of the last one. */
  readonly borders: readonly Date[];
  /** The same, each at the nearest whole hour. */
  readonly hours: readonly Date[];
}

/** An hour that is not over yet is whole when the period reaches to now: later records are not there. */
export function cutsOf(starts: readonly Date[], to: Date, now: number): Cuts {
  const end =
    to.getTime() >= now ? new Date(Math.floor((to.getTime() - 1) / HOUR_MS) * HOUR_MS + HOUR_MS) : to;
  const borders = [...starts, end];
  return {
    borders,
    hours: borders.map((border) => new Date(Math.round(border.getTime() / HOUR_MS) * HOUR_MS)),
  };
}
