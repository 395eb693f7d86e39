import { Injectable } from '@nestjs/common';
import { type BudgetScope, isBudget, Ledger, limitRefs, Limits, type LimitState } from '../../billing';
import { PayerService } from '../../identity';
import { isInvoiceAccount, type Scope } from '../../kernel';
import type { ManagedKey } from '../../keys';

export interface EffectiveLimit {
  readonly kind: BudgetScope['kind'];
  readonly state: LimitState;
  /** Whether the reader sees amounts; other readers see only the used share. */
  readonly showsAmounts: boolean;
  /** True for the limit with the least remaining. */
  readonly isTightest: boolean;
}

interface PayingWallet {
  /** Remaining spend, including the credit limit. */
  readonly remaining: bigint;
  /** A payer by invoice has credit instead of a balance. */
  readonly isInvoice: boolean;
  readonly showsAmounts: boolean;
  readonly isTightest: boolean;
}

export interface EffectiveKeyLimits {
  readonly limits: readonly EffectiveLimit[];
  /** Null without a payer, or if nothing is charged. */
  readonly wallet: PayingWallet | null;
  readonly isExempt: boolean;
}

/** Collects every limit that applies to a key: its own, those of its owners, and the charged wallet. */
@Injectable()
export class EffectiveLimitsService {
  constructor(
    private readonly limits: Limits,
    private readonly ledger: Ledger,
    private readonly payers: PayerService,
  ) {}

  async of(scope: Scope, key: ManagedKey): Promise<EffectiveKeyLimits> {
    const payerState = await this.payers.standingOf(key);
    const refs = limitRefs({ ...payerState, keyId: key.id, walletId: null }).filter(isBudget);
    const account = payerState.chargedAccount;
    // Reading the states first flushes this node's charges to the database.
    const states = await this.limits.states(refs);
    const wallet = account === null ? null : await this.ledger.wallet(account);
    const existing = refs.flatMap((ref, index) => {
      const state = states[index] ?? null;
      return state === null ? [] : [{ ref, state }];
    });
    const walletRemaining = wallet === null ? null : wallet.balance + wallet.creditLimit;
    const minimum = minimumOf([
      ...existing.map(({ state }) => state.remaining),
      ...(walletRemaining === null ? [] : [walletRemaining]),
    ]);
    return {
      limits: existing.map(({ ref, state }) => ({
        kind: ref.kind,
        state,
        showsAmounts: canSeeAmounts(scope, ref),
        isTightest: state.remaining === minimum,
      })),
      wallet:
        walletRemaining === null
          ? null
          : {
              remaining: walletRemaining > 0n ? walletRemaining : 0n,
              isInvoice: account !== null && isInvoiceAccount(account),
              showsAmounts:
                coversOtherUsers(scope) || (scope.kind === 'user' && scope.userId === payerState.payerUserId),
              isTightest: walletRemaining === minimum,
            },
      isExempt: payerState.billingExempt,
    };
  }
}

const coversOtherUsers = ({ kind }: Scope): boolean => kind === 'platform' || kind === 'organisation';

/** Amounts of an organisation's or department's limits are shown only to its administrators. */
function canSeeAmounts(scope: Scope, { kind, id }: BudgetScope): boolean {
  if (coversOtherUsers(scope) || kind === 'key' || kind === 'project') return true;
  if (kind === 'user' || kind === 'user_budget') return scope.kind !== 'user' || scope.userId === id;
  return kind === 'department' && scope.kind === 'department';
}

const minimumOf = (amounts: readonly bigint[]): bigint | null =>
  amounts.reduce<bigint | null>((least, amount) => (least === null || amount < least ? amount : least), null);
