const millisecondsPerBucket = 3_600_000;

/** Thirty days of hours, the current one included. */
export const rollingBuckets = 720;

export interface BucketRange {
  /** The oldest hour that still counts. */
  readonly first: number;
  /** The current hour. */
  readonly last: number;
}

/** The hour an instant belongs to, counted from the epoch. */
export const bucketOf = (at: Date | number): number => Math.floor(Number(at) / millisecondsPerBucket);

export const bucketStart = (bucket: number): Date => new Date(bucket * millisecondsPerBucket);

/** When a bucket stops counting towards the trailing thirty days. */
export const bucketLeavesAt = (bucket: number): Date => bucketStart(bucket + rollingBuckets);

/** The buckets that count at an instant, both ends included. */
export function rollingRange(at: Date | number): BucketRange {
  const last = bucketOf(at);
  return { first: last - rollingBuckets + 1, last };
}

/**
 * When a rolling budget next regains something: the moment its oldest bucket with spending expires. Null when no
 * counted bucket has spending. The buckets may come in any order.
 */
export function rollingResetsAt(bucketsWithSpending: Iterable<number>, at: Date | number): Date | null {
  const { first, last } = rollingRange(at);
  let oldest: number | null = null;
  for (const bucket of bucketsWithSpending) {
    if (bucket < first || bucket > last) continue;
    if (oldest === null || bucket < oldest) oldest = bucket;
  }
  return oldest === null ? null : bucketLeavesAt(oldest);
}
