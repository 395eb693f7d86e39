import { Injectable } from '@nestjs/common';
import { type BudgetScope, isBudget, Ledger, limitRefs, Limits, type LimitState } from '../../billing';
import { PayerService } from '../../identity';
import { isInvoiceAccount, type Scope } from '../../kernel';
import type { ManagedKey } from '../../keys';

export interface LimitInForce {
  readonly kind: BudgetScope['kind'];
  readonly state: LimitState;
  /** This reader may see amounts; others see how much of it is used. */
  readonly showsAmounts: boolean;
  /** The one with the least left. */
  readonly isTightest: boolean;
}

interface PayingWallet {
  /** So much may still be spent, the credit limit included. */
  readonly remaining: bigint;
  /** A payer by invoice has credit in place of a balance. */
  readonly isInvoice: boolean;
  readonly showsAmounts: boolean;
  readonly isTightest: boolean;
}

export interface LimitsInForce {
  readonly limits: readonly LimitInForce[];
  /** It is null without a payer, or where nothing is charged. */
  readonly wallet: PayingWallet | null;
  readonly isExempt: boolean;
}

/** Every limit that a request of a key has to pass: its own, those of all it belongs to, and the wallet that pays. */
@Injectable()
export class LimitsOfKey {
  constructor(
    private readonly limits: Limits,
    private readonly ledger: Ledger,
    private readonly payers: PayerService,
  ) {}

  async of(scope: Scope, key: ManagedKey): Promise<LimitsInForce> {
    const standing = await this.payers.standingOf(key);
    const refs = limitRefs({ ...standing, keyId: key.id, walletId: null }).filter(isBudget);
    const account = standing.chargedAccount;
    // What this node has charged is in the database once the states are read.
    const states = await this.limits.states(refs);
    const wallet = account === null ? null : await this.ledger.wallet(account);
    const found = refs.flatMap((ref, place) => {
      const state = states[place] ?? null;
      return state === null ? [] : [{ ref, state }];
    });
    const walletLeft = wallet === null ? null : wallet.balance + wallet.creditLimit;
    const least = leastOf([
      ...found.map(({ state }) => state.remaining),
      ...(walletLeft === null ? [] : [walletLeft]),
    ]);
    return {
      limits: found.map(({ ref, state }) => ({
        kind: ref.kind,
        state,
        showsAmounts: maySeeAmounts(scope, ref),
        isTightest: state.remaining === least,
      })),
      wallet:
        walletLeft === null
          ? null
          : {
              remaining: walletLeft > 0n ? walletLeft : 0n,
              isInvoice: account !== null && isInvoiceAccount(account),
              showsAmounts:
                coversPeople(scope) || (scope.kind === 'user' && scope.userId === standing.payerUserId),
              isTightest: walletLeft === least,
            },
      isExempt: standing.billingExempt,
    };
  }
}

const coversPeople = ({ kind }: Scope): boolean => kind === 'platform' || kind === 'organisation';

/** The limits of an organisation or department are the business of those who run it. */
function maySeeAmounts(scope: Scope, { kind, id }: BudgetScope): boolean {
  if (coversPeople(scope) || kind === 'key' || kind === 'project') return true;
  if (kind === 'user' || kind === 'user_budget') return scope.kind !== 'user' || scope.userId === id;
  return kind === 'department' && scope.kind === 'department';
}

const leastOf = (amounts: readonly bigint[]): bigint | null =>
  amounts.reduce<bigint | null>((least, amount) => (least === null || amount < least ? amount : least), null);
