import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { AuditModule, Taps } from '../audit';
import { Database, Notifications, OutgoingModule, QuarantineState, Settings, Telemetry } from '../platform';
import { ViewsModule } from '../views';
import { Escrow } from './engine/escrow/escrow';
import { AccountClosure } from './ledger/account-closure.service';
import { Invoices } from './ledger/invoices';
import { Ledger } from './ledger/ledger';
import { PromotionStore } from './promotions/promotion-store';
import { Promotions } from './promotions/promotions.service';
import { BudgetRaises } from './ledger/budget-raises';
import { CreditCeilings } from './ledger/credit-ceilings';
import { Limits } from './ledger/limits';
import { MoneyWatch } from './ledger/money-watch';
import { WalletHistory } from './ledger/wallet-history';
import { MoneyEngine } from './engine/money-engine';
import { MoneyGauges } from './money-gauges';
import { QuarantinedJournals } from './engine/settlement/quarantined-journals';
import { PostgresMoneyStore } from './engine/store/postgres-money-store';
import { tracedStore } from './engine/store/traced-store';
import { AutomaticFailures } from './processor/automatic-failures';
import { AutomaticTopUp } from './processor/automatic-top-up';
import { BillingAccounts } from './processor/billing-accounts';
import { BillingAlerts } from './processor/billing-alerts';
import { BillingMails } from './processor/billing-mails';
import { BillingOperators } from './processor/billing-operators';
import { BillingReconciliation } from './processor/billing-reconciliation';
import { Cards } from './processor/cards';
import { Checkout } from './processor/checkout';
import { EventSweep } from './processor/event-sweep';
import { PaymentFacts } from './processor/payment-facts';
import { LOADED_SDK, loadSdk, PaymentProcessor } from './processor/payment-processor';
import { Payments } from './processor/payments';
import { ProcessorInbox } from './processor/processor-inbox';
import { ReachedBudgets } from './processor/reached-budgets';
import { RefundOrders } from './processor/refund-orders';
import { WalletHandover } from './processor/wallet-handover';

const processorProviders = [
  AutomaticTopUp,
  BillingAccounts,
  BillingAlerts,
  BillingOperators,
  BillingReconciliation,
  Cards,
  Checkout,
  EventSweep,
  PaymentProcessor,
  Payments,
  ProcessorInbox,
  ReachedBudgets,
  WalletHandover,
  WalletHistory,
];

@Module({
  imports: [AuditModule, OutgoingModule, ViewsModule],
  providers: [
    ...processorProviders,
    AutomaticFailures,
    BillingMails,
    PaymentFacts,
    RefundOrders,
    { provide: LOADED_SDK, inject: [Settings], useFactory: loadSdk },
    AccountClosure,
    Ledger,
    BudgetRaises,
    CreditCeilings,
    Invoices,
    Limits,
    PromotionStore,
    Promotions,
    MoneyWatch,
    MoneyGauges,
    {
      provide: MoneyEngine,
      inject: [Database, Notifications, Settings, Taps, QuarantineState, Telemetry],
      useFactory: async (
        database: Database,
        notifications: Notifications,
        settings: Settings,
        taps: Taps,
        quarantine: QuarantineState,
        telemetry: Telemetry,
      ) => {
        const store = tracedStore(new PostgresMoneyStore(database, taps.all.length > 0), telemetry);
        const engine = new MoneyEngine(store, notifications, {
          dataFolder: settings.dataFolder,
          acknowledge: settings.settleAck,
          quarantinedJournals: new QuarantinedJournals(settings.dataFolder, database, quarantine),
        });
        await engine.start();
        return engine;
      },
    },
    { provide: Escrow, inject: [MoneyEngine], useFactory: (engine: MoneyEngine) => engine.escrow },
  ],
  exports: [
    Promotions,
    Escrow,
    BudgetRaises,
    CreditCeilings,
    Invoices,
    Ledger,
    Limits,
    MoneyEngine,
    MoneyWatch,
    ...processorProviders,
  ],
})
export class BillingModule implements OnApplicationShutdown {
  constructor(@Inject(MoneyEngine) private readonly engine: MoneyEngine) {}

  async onApplicationShutdown(): Promise<void> {
    await this.engine.stop();
  }
}
