import { Injectable } from '@nestjs/common';
import { SECOND_MS } from '../kernel';
import { Metrics } from '../platform';

const SUCCEEDED = 'gateway_backup_success_timestamp_seconds';
const COVERED = 'gateway_backup_covered_timestamp_seconds';

/** What alerts want to know of backups. */
export interface BackupState {
  /** The newest one that succeeded ended then; null where none is known. */
  readonly succeededAt: Date | null;
  /** The archived log reaches to here; null where nothing of it is known. */
  readonly coveredAt: Date | null;
}

/** Backups as their gauges say: what makes them by a schedule keeps the gauges on the node that makes them. */
@Injectable()
export class BackupAge {
  constructor(private readonly metrics: Metrics) {}

  /** Null where no backup is made by a schedule. */
  async newest(): Promise<BackupState | null> {
    const [succeeded, covered] = [await this.secondsOf(SUCCEEDED), await this.secondsOf(COVERED)];
    if (succeeded === undefined) return null;
    return { succeededAt: momentOf(succeeded), coveredAt: momentOf(covered) };
  }

  private async secondsOf(gauge: string): Promise<number | undefined> {
    return (await this.metrics.registry.getSingleMetric(gauge)?.get())?.values[0]?.value;
  }
}

const momentOf = (seconds = 0): Date | null => (seconds === 0 ? null : new Date(seconds * SECOND_MS));
