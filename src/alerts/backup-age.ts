import { Injectable } from '@nestjs/common';
import { SECOND_MS } from '../kernel';
import { Metrics } from '../platform';

const SUCCEEDED_GAUGE = 'gateway_backup_success_timestamp_seconds';
const COVERED_GAUGE = 'gateway_backup_covered_timestamp_seconds';

export interface BackupTimes {
  /** End of the newest successful backup; null if unknown. */
  readonly succeededAt: Date | null;
  /** End of the archived log; null if unknown. */
  readonly coveredAt: Date | null;
}

/** Reads backup times from the gauges of the node that makes scheduled backups. */
@Injectable()
export class BackupAge {
  constructor(private readonly metrics: Metrics) {}

  /** Null if no backups are scheduled. */
  async newest(): Promise<BackupTimes | null> {
    const [succeeded, covered] = [await this.secondsOf(SUCCEEDED_GAUGE), await this.secondsOf(COVERED_GAUGE)];
    if (succeeded === undefined) return null;
    return { succeededAt: momentOf(succeeded), coveredAt: momentOf(covered) };
  }

  private async secondsOf(gauge: string): Promise<number | undefined> {
    return (await this.metrics.registry.getSingleMetric(gauge)?.get())?.values[0]?.value;
  }
}

const momentOf = (seconds = 0): Date | null => (seconds === 0 ? null : new Date(seconds * SECOND_MS));
