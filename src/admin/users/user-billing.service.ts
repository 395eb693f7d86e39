import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { BudgetRaises, CreditCeilings, Invoices, Ledger, Limits, type LimitRule } from '../../billing';
import {
  type Acting,
  type BillingType,
  MOST_DELEGATES,
  notInOrganisation,
  refuseSuperior,
  type Target,
  UserAccount,
  UserEditor,
} from '../../identity';
import { atLeast, type BudgetPeriod, fault, formatUsd, type Nano } from '../../kernel';
import type { Tx } from '../../platform';
import { raiseBudget, type WantedRaise } from '../pages/budget-raise';

export interface BillingConfig {
  readonly type: BillingType;
  /** Null takes the limit away; left out, it stays as it is. */
  readonly budget?: Nano | null | undefined;
  /** Left out, the period of the limit stays, and a new limit is monthly. */
  readonly period?: BudgetPeriod | undefined;
  readonly delegateUserId: number | null;
}

const dollars = (amount: Nano | null | undefined): string | null =>
  amount === null || amount === undefined ? null : formatUsd(amount);

/** The payer of a person, and the limit of their spending. */
@Injectable()
export class UserBilling {
  constructor(
    private readonly editor: UserEditor,
    private readonly limits: Limits,
    private readonly ledger: Ledger,
    private readonly raises: BudgetRaises,
    private readonly ceilings: CreditCeilings,
    private readonly invoices: Invoices,
  ) {}

  setCreditLimit(acting: Acting, target: Target, limit: Nano): Promise<Changes> {
    const kind = { act: 'credit-limit', action: 'user.credit-limit-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const { creditLimit } = await this.ledger.wallet(user.id);
      if (creditLimit === limit) return {};
      if (
        limit > creditLimit &&
        user.organisationId !== null &&
        !atLeast(acting.actor.role, 'platform_admin')
      )
        await this.ceilings.requireRoom(tx, user.organisationId, limit - creditLimit);
      await this.limits.setCreditLimit(tx, user.id, limit);
      await this.followCredit(tx, acting, user.id, user.billingType);
      return changesOf({ credit_limit: dollars(creditLimit) }, { credit_limit: dollars(limit) });
    });
  }

  /** Only the platform sets, raises or lowers it. Null removes it. */
  setMonthlyBudget(acting: Acting, target: Target, budget: Nano | null): Promise<Changes> {
    const kind = { act: 'monthly-budget', action: 'user.monthly-budget-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const changes = await this.setMonthly(tx, user.id, budget);
      await this.followCredit(tx, acting, user.id, user.billingType);
      return changes;
    });
  }

  /** A temporary raise of the budget of `setConfig`; null ends the present one. */
  raiseBudget(acting: Acting, target: Target, raise: WantedRaise): Promise<Changes> {
    const kind = { act: 'budget-raise', action: 'user.budget-raised' } as const;
    const why = { ...target, by: acting.actor.userId };
    return this.editor.change(acting, target, kind, (tx, user) =>
      raiseBudget(this.raises, tx, { kind: 'user_budget', id: user.id }, raise, why),
    );
  }

  setConfig(acting: Acting, target: Target, config: BillingConfig): Promise<Changes> {
    const kind = { act: 'billing-config', action: 'user.billing-config-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const { type } = config;
      if (type === 'invoiced' && type !== user.billingType && !atLeast(acting.actor.role, 'platform_admin')) {
        throw fault('permission_denied', {
          message: 'Only the platform lets someone pay by invoice.',
          details: { reason: 'invoice' },
        });
      }
      const delegateUserId = type === 'delegated' ? await delegateOf(tx, user, config.delegateUserId) : null;
      if (delegateUserId !== user.delegateUserId)
        await refuseSuperior(tx, acting.actor, delegateUserId, 'delegate_user_id');
      await tx.getRepository(UserAccount).update(user.id, { billingType: type, delegateUserId });
      const budgets = await this.changeBudget(tx, user.id, config);
      await this.followCredit(tx, acting, user.id, type);
      return {
        ...changesOf(
          { billing_type: user.billingType, delegate_user_id: user.delegateUserId },
          { billing_type: type, delegate_user_id: delegateUserId },
        ),
        ...budgets,
        ...(user.billingType === 'invoiced' && type !== 'invoiced'
          ? await this.leaveInvoices(tx, user.id)
          : {}),
      };
    });
  }

  /** A payment of invoices that reached the operator; repeated with its reference, it changes nothing. */
  recordPayment(acting: Acting, target: Target, reference: string, amount: Nano): Promise<Changes> {
    const kind = { act: 'invoice-payment', action: 'user.invoice-paid' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const made = await this.invoices.record(tx, user.id, reference, amount);
      return made === null ? {} : changesOf(null, { paid_usd: dollars(amount), reference });
    });
  }

  /** A posting reverses the payment. */
  undoPayment(acting: Acting, target: Target, paymentId: number): Promise<Changes> {
    const kind = { act: 'invoice-payment-undo', action: 'user.invoice-payment-undone' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const undone = await this.invoices.undo(tx, user.id, paymentId);
      if (undone === null) return {};
      const { amount, reference } = undone;
      return changesOf({ paid_usd: dollars(amount), reference }, null);
    });
  }

  private async followCredit(tx: Tx, { actor }: Acting, userId: number, type: BillingType): Promise<void> {
    if (type !== 'invoiced') return;
    await this.invoices.followCredit(tx, userId, atLeast(actor.role, 'platform_admin'));
  }

  private async leaveInvoices(tx: Tx, userId: number): Promise<Changes> {
    const owed = await this.invoices.leave(tx, userId);
    return changesOf(null, owed === 0n ? {} : { owed_moved_to_wallet_usd: dollars(owed) });
  }

  private async setMonthly(tx: Tx, userId: number, limit: Nano | null): Promise<Changes> {
    const scope = { kind: 'user', id: userId } as const;
    const before = await this.limits.state(scope, tx);
    // These raises are of a version before, which knew one budget.
    const ended = await this.raises.endAll(tx, scope);
    if (limit === null) await this.limits.remove(tx, scope);
    else await this.limits.set(tx, scope, { limit, period: 'monthly' });
    return {
      ...changesOf({ monthly_budget: dollars(before?.limit) }, { monthly_budget: dollars(limit) }),
      ...(ended === 0 ? {} : changesOf({ raises: ended }, { raises: 0 })),
    };
  }

  private async changeBudget(tx: Tx, userId: number, { budget, period }: BillingConfig): Promise<Changes> {
    if (budget === null) return this.setBudget(tx, userId, null);
    if (budget === undefined && period === undefined) return {};
    const current = await this.limits.state({ kind: 'user_budget', id: userId }, tx);
    const limit = budget ?? current?.limit;
    if (limit === undefined) return {};
    return this.setBudget(tx, userId, { limit, period: period ?? current?.period ?? 'monthly' });
  }

  private async setBudget(tx: Tx, userId: number, rule: LimitRule | null): Promise<Changes> {
    const scope = { kind: 'user_budget', id: userId } as const;
    const before = await this.limits.state(scope, tx);
    const changes = changesOf(
      { budget: dollars(before?.limit), budget_period: before?.period ?? null },
      { budget: dollars(rule?.limit), budget_period: rule?.period ?? null },
    );
    if (Object.keys(changes).length === 0) return {};
    if (rule === null) await this.limits.remove(tx, scope);
    else await this.limits.set(tx, scope, rule);
    return changes;
  }
}

/** Checks that the delegate is another person of the same organisation. */
async function delegateOf(tx: Tx, user: UserAccount, delegateUserId: number | null): Promise<number> {
  if (delegateUserId === null || delegateUserId === user.id) {
    throw fault('invalid_request', {
      param: 'delegate_user_id',
      message: 'Say who pays: another account of the same organisation.',
      details: { reason: 'delegate' },
    });
  }
  const found = await tx.query<unknown[]>(
    `SELECT 1 FROM user_account WHERE id = $1 AND status = 'active' AND organisation_id = $2 FOR KEY SHARE`,
    [delegateUserId, user.organisationId],
  );
  if (found.length === 0) {
    throw notInOrganisation('delegate_user_id');
  }
  await refuseLongWay(tx, user.id, delegateUserId);
  return delegateUserId;
}

/**
 * The payer has to be found in a few steps, and not in a circle. Changes of accounts take turns: none comes
 * meanwhile.
 */
async function refuseLongWay(tx: Tx, userId: number, delegateUserId: number): Promise<void> {
  const [way] = await tx.query<[{ circle: boolean; steps: number }]>(
    `WITH RECURSIVE payer AS (
       SELECT id, delegate_user_id, 1 AS steps FROM user_account WHERE id = $2
       UNION ALL SELECT u.id, u.delegate_user_id, p.steps + 1 FROM payer p JOIN user_account u ON u.id = p.delegate_user_id
        WHERE p.steps <= $3 AND p.id <> $1),
     paid AS (
       SELECT id, 0 AS steps FROM user_account WHERE id = $1
       UNION ALL SELECT u.id, p.steps + 1 FROM paid p JOIN user_account u ON u.delegate_user_id = p.id
        WHERE p.steps <= $3 AND u.id <> $1)
     SELECT (SELECT bool_or(id = $1) FROM payer) AS circle,
            (SELECT max(steps) FROM payer) + (SELECT max(steps) FROM paid) AS steps`,
    [userId, delegateUserId, MOST_DELEGATES],
  );
  if (!way.circle && way.steps <= MOST_DELEGATES) return;
  throw fault('invalid_request', {
    param: 'delegate_user_id',
    message: way.circle
      ? 'That account is paid for by this one: payers would go round in a circle.'
      : `Who pays would be found after more than ${MOST_DELEGATES} delegates. Name the payer directly.`,
    details: way.circle ? { reason: 'delegate-circle' } : { reason: 'delegate-chain' },
  });
}
