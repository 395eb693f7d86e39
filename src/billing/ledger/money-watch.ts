import { Injectable } from '@nestjs/common';
import { Database, Logger } from '../../platform';
import { verifyMoney } from './verify-money';

/** Looks whether money adds up, and says so in the log when it does not. */
@Injectable()
export class MoneyWatch {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  async look(): Promise<void> {
    const { checks } = await verifyMoney(this.database);
    for (const { name, wrong } of checks) {
      if (wrong.length > 0) this.logger.error('money does not add up', { check: name, wrong });
    }
  }
}
