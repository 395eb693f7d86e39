import { Injectable } from '@nestjs/common';
import { Database, Logger, RepeatingJob, Settings } from '../platform';
import { systemActor } from './activity/activity';
import { ActivityLog } from './activity/activity-log';
import { changesOf } from './activity/changes';
import { Refusals } from './refusals';
import { RequestRecords } from './request-records';

const PARTITIONS_AHEAD = 3;

/** Creates partitions of request records ahead of time and drops those older than the retention setting. */
@Injectable()
export class RecordRetention {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly records: RequestRecords,
    private readonly refusals: Refusals,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'partitions', cron: '10 2 * * *' })
  async rotatePartitions(): Promise<void> {
    const now = new Date();
    const made = await this.records.createPartitions(PARTITIONS_AHEAD, now);
    const { recordRetentionMonths: months } = this.settings;
    if (months === undefined) return this.logger.info('partitions of request records are ready', { made });
    const oldest = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
    const dropped = await this.dropBefore(oldest);
    await this.records.deleteLabelsBefore(oldest);
    await this.refusals.deleteBefore(oldest);
    this.logger.info('partitions of request records are ready', { made, dropped });
  }

  private dropBefore(oldest: Date): Promise<string[]> {
    return this.database.transaction(async (tx) => {
      const dropped = await this.records.dropBefore(oldest, tx);
      if (dropped.length === 0) return dropped;
      await this.activity.write(tx, {
        action: 'log.requests-forgotten',
        object: { type: 'log', label: 'request records' },
        concerns: {},
        changes: changesOf({ months: dropped }, null),
        actor: systemActor('retention'),
      });
      return dropped;
    });
  }
}
