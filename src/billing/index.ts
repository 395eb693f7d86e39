export { BillingModule } from './billing.module';
export { Escrow } from './escrow/escrow';
export type { Hold, HoldRequest, SettleOutcome } from './escrow/hold';
export { type Counterpart, Ledger, type LedgerLine, type Posting, type WalletState } from './ledger/ledger';
export { type BudgetScope, type LimitRule, Limits, type LimitState } from './ledger/limits';
export { type Discrepancy, type MoneyCheck, type MoneyReport, verifyMoney } from './ledger/verify-money';
export { MoneyEngine, type MoneyEngineOptions } from './money-engine';
export { type LimitRef, limitRefs, type ScopeKind } from './scope';
export { PostgresMoneyStore } from './store/postgres-money-store';
