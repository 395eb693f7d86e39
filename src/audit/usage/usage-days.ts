import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob } from '../../platform';

const MAX_DAYS = 800;

@Injectable()
export class UsageDays {
  constructor(private readonly database: Database) {}

  @RepeatingJob({ name: 'usage-days', cron: '25 * * * *' })
  async merge(): Promise<void> {
    const days = await this.database.query<{ day: Date }>(
      `SELECT step AS day
         FROM generate_series(date_trunc('day', (SELECT min(hour) FROM usage_hour), 'UTC'),
                              now() - interval '30 hours', interval '24 hours') AS step
        WHERE NOT EXISTS (SELECT FROM usage_day_merged m WHERE m.day = step) ORDER BY 1 DESC LIMIT ${MAX_DAYS}`,
    );
    for (const { day } of days) await this.database.query('SELECT merge_usage_day($1)', [day]);
  }
}
