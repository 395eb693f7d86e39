import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob, Settings } from '../../platform';

@Injectable()
export class ActivityRetention {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  @RepeatingJob({ name: 'activity', cron: '35 3 * * *' })
  async runCleanup(): Promise<void> {
    await this.deleteExpired(new Date());
  }

  async deleteExpired(now: Date): Promise<number> {
    const { activityRetentionMonths: months } = this.settings;
    if (months === undefined) return 0;
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
    const [row] = await this.database.query<{ removed: string }>(
      'SELECT forget_activity_before($1::date) AS removed',
      [month.toISOString().slice(0, 10)],
    );
    return Number(row?.removed ?? 0);
  }
}
