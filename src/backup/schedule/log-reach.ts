import type { ClusterDescription } from '../manifest';
import { isSegment, readLsn, segmentAfter, segmentAt } from '../wal/segments';
import type { Coverage } from '../wal/wal-archive';

const MAX_RECENT_SEGMENTS = 1_000;

/** How far the log continues from the newest backup: a segment that no backup leads to protects nothing. */
export class LogCoverage {
  private next: string | null = null;
  private moment: Date | null = null;
  /** Segments shipped while the target is being read count as well. */
  private readonly recent = new Map<string, Date | null>();

  constructor(private readonly segmentBytes: number) {}

  /** Never in the future: after the clock was set back, the age of an unshipped log must grow immediately. */
  get until(): Date | null {
    const now = new Date();
    if (this.moment !== null && this.moment > now) this.moment = now;
    return this.moment;
  }

  start({ timeline, endLsn, segmentBytes }: ClusterDescription, { segments, until }: Coverage): void {
    const last = segments.at(-1) ?? segmentAt(timeline, readLsn(endLsn) - 1n, segmentBytes);
    if (until <= new Date()) this.moment = until;
    else this.moment = this.until ?? new Date();
    this.next = segmentAfter(last, segmentBytes);
    this.advance();
  }

  end(): void {
    this.next = null;
    this.moment = null;
  }

  extend(segment: string, coveredUntil: Date | null): void {
    if (!isSegment(segment)) return;
    this.recent.set(segment, coveredUntil);
    const [oldest = ''] = this.recent.keys();
    if (this.recent.size > MAX_RECENT_SEGMENTS) this.recent.delete(oldest);
    this.advance();
  }

  private advance(): void {
    while (this.next !== null && this.recent.has(this.next)) {
      this.moment = this.recent.get(this.next) ?? this.moment;
      this.next = segmentAfter(this.next, this.segmentBytes);
    }
  }
}
