export { BillingModule } from './billing.module';
export { Escrow } from './engine/escrow/escrow';
export type { Hold, HoldRequest, SettleOutcome } from './engine/escrow/hold';
export { Ledger, type PostingKind, postingKinds, type WalletState } from './ledger/ledger';
export { type InvoicePayment, Invoices, type InvoiceState } from './ledger/invoices';
export { type BudgetRaise, BudgetRaises } from './ledger/budget-raises';
export { CreditCeilings } from './ledger/credit-ceilings';
export {
  type BudgetScope,
  isBudget,
  type LimitRule,
  Limits,
  type LimitState,
  tightestOf,
} from './ledger/limits';
export { type Discrepancy, type MoneyCheck, type MoneyReport, verifyMoney } from './ledger/verify-money';
export {
  type HistoryLine,
  type Statement,
  type FactorInForce,
  type UsageShare,
  WalletHistory,
} from './ledger/wallet-history';
export {
  type ListedPromotion,
  Promotions,
  promotionScopes,
  type PromotionScope,
} from './promotions/promotions.service';
export { MoneyWatch } from './ledger/money-watch';
export { MoneyEngine, type MoneyEngineOptions } from './engine/money-engine';
export { completeFrames } from './engine/settlement/journal-frames';
export { budgetsOfUser, type LimitRef, limitRefs } from './scope';
export type { UnreadJournal } from './engine/store/money-store';
export { PostgresMoneyStore } from './engine/store/postgres-money-store';
export { AutomaticTopUp } from './processor/automatic-top-up';
export {
  type AutomaticTopUpRule,
  type BillingAccount,
  BillingAccounts,
  type InvoiceDetails,
  type WalletOwner,
} from './processor/billing-accounts';
export { BillingAlerts } from './processor/billing-alerts';
export { BillingOperators } from './processor/billing-operators';
export {
  BillingReconciliation,
  type PaymentDifference,
  type PaymentReconciliation,
} from './processor/billing-reconciliation';
export { type Card, Cards } from './processor/cards';
export { Checkout } from './processor/checkout';
export { EventSweep } from './processor/event-sweep';
export { handledEvents, readEvent } from './processor/events';
export { LOADED_SDK, loadSdk, PaymentProcessor } from './processor/payment-processor';
export { type OwnedPayment, type Payment, Payments, type PaymentStatus } from './processor/payments';
export { ProcessorInbox, type QuarantinedEvent } from './processor/processor-inbox';
export { type ReachedBudget, ReachedBudgets, shareOf } from './processor/reached-budgets';
export { WalletHandover } from './processor/wallet-handover';
export {
  isTopUp,
  MIN_TOP_UP_CENTS,
  MAX_TOP_UP_CENTS,
  readCents,
  readTopUpCents,
  topUpCents,
  topUpOf,
} from './top-up';
