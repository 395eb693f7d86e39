import { Injectable } from '@nestjs/common';
import { Database, RepeatingJob } from '../../platform';

/** Removes expired rows; validity never depends on this job. */
@Injectable()
export class AccountCleanup {
  constructor(private readonly database: Database) {}

  @RepeatingJob({ name: 'accounts', cron: '35 * * * *' })
  async removeExpired(): Promise<void> {
    await this.database.query('DELETE FROM account_token WHERE expires_at < now()');
    await this.database.query("DELETE FROM attempt_throttle WHERE last_at < now() - interval '1 day'");
    await this.database.query('DELETE FROM session WHERE expires_at < now()');
  }
}
