import { Injectable } from '@nestjs/common';
import {
  BillingAccounts,
  type BudgetScope,
  budgetsOfUser,
  Ledger,
  Limits,
  type LimitState,
} from '../../billing';
import { type Ownership, PayerService } from '../../identity';
import type { Nano, Scope } from '../../kernel';

/** Money available in a view. */
export interface Funds {
  /** Set if nothing is charged. */
  readonly isExempt: boolean;
  /** Remaining spend, including the credit limit; null if another account's wallet is charged, or none. */
  readonly remaining: Nano | null;
  /** Balance without credit, if it is below the owner's notification threshold. */
  readonly lowBalance: Nano | null;
  readonly budget: LimitState | null;
}

const noOwner: Ownership = { userId: null, organisationId: null, departmentId: null, projectId: null };

@Injectable()
export class FundsService {
  constructor(
    private readonly payers: PayerService,
    private readonly ledger: Ledger,
    private readonly accounts: BillingAccounts,
    private readonly limits: Limits,
  ) {}

  async load(scope: Scope): Promise<Funds> {
    const [owner, budgets] = resolveOwner(scope);
    if (owner === null) return { isExempt: false, remaining: null, lowBalance: null, budget: null };
    const { payerUserId, billingExempt, chargedAccount } = await this.payers.standingOf(owner);
    const isVisible =
      payerUserId !== null && !billingExempt && (scope.kind !== 'user' || payerUserId === scope.userId);
    const [wallet, account, budget] = await Promise.all([
      isVisible && chargedAccount !== null ? this.ledger.wallet(chargedAccount) : null,
      isVisible && chargedAccount === payerUserId ? this.accounts.findOrCreate(payerUserId) : null,
      this.limits.tightest(budgets),
    ]);
    const isBelowThreshold = wallet !== null && account !== null && wallet.balance < account.lowBalance;
    return {
      isExempt: billingExempt,
      remaining: wallet === null ? null : wallet.balance + wallet.creditLimit,
      lowBalance: isBelowThreshold ? wallet.balance : null,
      budget,
    };
  }
}

function resolveOwner(scope: Scope): [Ownership | null, readonly BudgetScope[]] {
  switch (scope.kind) {
    case 'platform':
      return [null, []];
    case 'organisation': {
      const id = scope.organisationId;
      return [{ ...noOwner, organisationId: id }, [{ kind: 'organisation', id }]];
    }
    case 'department': {
      const id = scope.departmentId;
      return [{ ...noOwner, departmentId: id }, [{ kind: 'department', id }]];
    }
    case 'user':
      return [{ ...noOwner, userId: scope.userId }, budgetsOfUser(scope.userId)];
  }
}
