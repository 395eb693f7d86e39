import type { Metrics } from '../../platform';

export type TapOutcome = 'delivered' | 'failed' | 'dead' | 'dropped';

/** Metrics of the taps that this process has. */
export class TapCounts {
  constructor(
    private readonly metrics: Metrics,
    private readonly names: ReadonlySet<string>,
  ) {}

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
