import {
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Database, Notifications, Settings } from '../platform';
import { Escrow } from './escrow/escrow';
import { Ledger } from './ledger/ledger';
import { Limits } from './ledger/limits';
import { verifyMoney } from './ledger/verify-money';
import { MoneyEngine } from './money-engine';
import { PostgresMoneyStore } from './store/postgres-money-store';

@Module({
  providers: [
    Ledger,
    Limits,
    {
      provide: MoneyEngine,
      inject: [Database, Notifications, Settings],
      useFactory: async (database: Database, notifications: Notifications, settings: Settings) => {
        const engine = new MoneyEngine(new PostgresMoneyStore(database), notifications, {
          dataFolder: settings.dataFolder,
          acknowledge: settings.settleAck,
        });
        await engine.start();
        return engine;
      },
    },
    { provide: Escrow, inject: [MoneyEngine], useFactory: (engine: MoneyEngine) => engine.escrow },
  ],
  exports: [Escrow, Ledger, Limits, MoneyEngine],
})
export class BillingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(BillingModule.name);

  constructor(
    private readonly database: Database,
    @Inject(MoneyEngine) private readonly engine: MoneyEngine,
  ) {}

  /** Does not hold up the boot: the equalities hold in the middle of traffic too. */
  onApplicationBootstrap(): void {
    void verifyMoney(this.database)
      .then(({ checks }) => {
        for (const { name, wrong } of checks) {
          if (wrong.length > 0) this.logger.error(`Money does not add up: ${name}: ${JSON.stringify(wrong)}`);
        }
      })
      .catch((error: unknown) => this.logger.warn(`Money could not be verified: ${String(error)}`));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.stop();
  }
}
