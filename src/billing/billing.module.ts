import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Database, Notifications, Settings } from '../platform';
import { Escrow } from './engine/escrow/escrow';
import { Ledger } from './ledger/ledger';
import { Limits } from './ledger/limits';
import { MoneyWatch } from './ledger/money-watch';
import { MoneyEngine } from './engine/money-engine';
import { PostgresMoneyStore } from './engine/store/postgres-money-store';

@Module({
  providers: [
    Ledger,
    Limits,
    MoneyWatch,
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
  exports: [Escrow, Ledger, Limits, MoneyEngine, MoneyWatch],
})
export class BillingModule implements OnApplicationShutdown {
  constructor(@Inject(MoneyEngine) private readonly engine: MoneyEngine) {}

  async onApplicationShutdown(): Promise<void> {
    await this.engine.stop();
  }
}
