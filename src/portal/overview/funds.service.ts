import { Injectable } from '@nestjs/common';
import {
  BillingAccounts,
  type BudgetScope,
  budgetsOfPerson,
  Ledger,
  Limits,
  type LimitState,
} from '../../billing';
import { type Ownership, PayerService } from '../../identity';
import type { Nano, Scope } from '../../kernel';

/** A view can spend these funds. */
export interface Funds {
  /** Nothing is charged to anybody. */
  readonly isExempt: boolean;
  /** So much may still be spent, the credit limit included; null where another account's wallet pays, or none. */
  readonly remaining: Nano | null;
  /** It is set where the balance, without credit, is below what its owner wants to hear of. */
  readonly lowBalance: Nano | null;
  readonly budget: LimitState | null;
}

const unowned: Ownership = { userId: null, organisationId: null, departmentId: null, projectId: null };

@Injectable()
export class SpendableFunds {
  constructor(
    private readonly payers: PayerService,
    private readonly ledger: Ledger,
    private readonly accounts: BillingAccounts,
    private readonly limits: Limits,
  ) {}

  async of(scope: Scope): Promise<Funds> {
    const [owner, budgets] = holderOf(scope);
    if (owner === null) return { isExempt: false, remaining: null, lowBalance: null, budget: null };
    const { payerUserId, billingExempt, chargedAccount } = await this.payers.standingOf(owner);
    const isShown =
      payerUserId !== null && !billingExempt && (scope.kind !== 'user' || payerUserId === scope.userId);
    const [wallet, account, budget] = await Promise.all([
      isShown && chargedAccount !== null ? this.ledger.wallet(chargedAccount) : null,
      isShown && chargedAccount === payerUserId ? this.accounts.of(payerUserId) : null,
      this.limits.tightest(budgets),
    ]);
    const isLow = wallet !== null && account !== null && wallet.balance < account.lowBalance;
    return {
      isExempt: billingExempt,
      remaining: wallet === null ? null : wallet.balance + wallet.creditLimit,
      lowBalance: isLow ? wallet.balance : null,
      budget,
    };
  }
}

function holderOf(scope: Scope): [Ownership | null, readonly BudgetScope[]] {
  switch (scope.kind) {
    case 'platform':
      return [null, []];
    case 'organisation': {
      const id = scope.organisationId;
      return [{ ...unowned, organisationId: id }, [{ kind: 'organisation', id }]];
    }
    case 'department': {
      const id = scope.departmentId;
      return [{ ...unowned, departmentId: id }, [{ kind: 'department', id }]];
    }
    case 'user':
      return [{ ...unowned, userId: scope.userId }, budgetsOfPerson(scope.userId)];
  }
}
