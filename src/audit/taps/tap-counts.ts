import type { Metrics } from '../../platform';

const outcomes = ['delivered', 'failed', 'dead', 'dropped'] as const;
export type TapOutcome = (typeof outcomes)[number];

export class TapCounts {
  constructor(
    private readonly metrics: Metrics,
    private readonly names: ReadonlySet<string>,
  ) {
    // An increase is visible only in a series that already existed with 0.
    for (const tap of names) for (const outcome of outcomes) metrics.tapRecords.at({ tap, outcome });
  }

  add(tap: string, outcome: TapOutcome, count: number): void {
    if (count > 0 && this.names.has(tap)) this.metrics.tapRecords.inc({ tap, outcome }, count);
  }

  backlog(tap: string, count: number): void {
    this.metrics.tapBacklog.set({ tap }, count);
  }

  oldest(tap: string, milliseconds: number | null): void {
    this.metrics.tapOldestSeconds.set({ tap }, Math.max(0, milliseconds ?? 0) / 1_000);
  }
}
