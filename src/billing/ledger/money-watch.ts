import { Injectable } from '@nestjs/common';
import { Database, Logger, Metrics, RepeatingJob } from '../../platform';
import { verifyMoneyExclusively } from './verify-money';

/** Verifies the books and logs failures. If several nodes start at the same time, one does the work. */
@Injectable()
export class MoneyWatch {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  @RepeatingJob({ name: 'verify-money', cron: '40 2 * * *' })
  verifyAll(): Promise<void> {
    return this.verify(true);
  }

  /** Verifies what is newer than the seal, or everything if `full` is set. */
  async verify(full = false): Promise<void> {
    const report = await verifyMoneyExclusively(this.database, { full });
    for (const { name, wrong } of report?.checks ?? []) {
      this.metrics.moneyDifferences.inc({}, wrong.length);
      if (wrong.length > 0) this.logger.error('money does not add up', { check: name, wrong });
    }
  }
}
