import { Injectable } from '@nestjs/common';
import { Database, Logger, RepeatingJob } from '../../platform';
import { verifyMoneyAlone } from './verify-money';

/** Looks whether money adds up, and says so in the log when it does not. Of nodes that look at once, one does. */
@Injectable()
export class MoneyWatch {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  @RepeatingJob({ name: 'verify-money', cron: '40 2 * * *' })
  verifyAll(): Promise<void> {
    return this.look(true);
  }

  /** What came since it last added up; `full`: everything. */
  async look(full = false): Promise<void> {
    const report = await verifyMoneyAlone(this.database, { full });
    for (const { name, wrong } of report?.checks ?? []) {
      if (wrong.length > 0) this.logger.error('money does not add up', { check: name, wrong });
    }
  }
}
