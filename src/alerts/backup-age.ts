import { Injectable } from '@nestjs/common';
import { SECOND_MS } from '../kernel';
import { Metrics } from '../platform';

const GAUGE = 'gateway_backup_success_timestamp_seconds';

/** What alerts want to know of backups. */
export interface BackupState {
  /** The newest one that succeeded ended then; null where none ever did. */
  readonly succeededAt: Date | null;
}

/** The newest backup as its gauge says: what makes backups by a schedule keeps the gauge on the node that makes them. */
@Injectable()
export class BackupAge {
  constructor(private readonly metrics: Metrics) {}

  /** Null where no backup is made by a schedule. */
  async newest(): Promise<BackupState | null> {
    const gauge = await this.metrics.registry.getSingleMetric(GAUGE)?.get();
    const seconds = gauge?.values[0]?.value;
    return seconds === undefined || seconds === 0 ? null : { succeededAt: new Date(seconds * SECOND_MS) };
  }
}
