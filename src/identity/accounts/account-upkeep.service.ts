import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob } from '../../platform';

/** What has run out is removed; whether it still works never depends on that. */
@Injectable()
export class AccountUpkeep {
  constructor(private readonly database: Database) {}

  @RepeatingJob({ name: 'accounts', cron: '35 * * * *' })
  async removeExpired(): Promise<void> {
    await this.database.query('DELETE FROM account_token WHERE expires_at < now()');
    await this.database.query("DELETE FROM attempt_throttle WHERE last_at < now() - interval '1 day'");
    await this.database.query('DELETE FROM session WHERE expires_at < now()');
  }
}
