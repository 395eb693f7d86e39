import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { BudgetRaises, CreditCeilings, Invoices, Ledger, Limits, type LimitRule } from '../../billing';
import {
  type ActorContext,
  type BillingType,
  MAX_DELEGATES,
  notInOrganisationFault,
  refuseSuperior,
  type EditTarget,
  UserAccount,
  UserEditor,
} from '../../identity';
import { atLeast, type BudgetPeriod, fault, formatUsd, type Nano } from '../../kernel';
import type { Tx } from '../../platform';
import { raiseBudget, type RequestedRaise } from '../pages/budget-raise';
import { readDelegateChain } from './delegate-chain.query';

export interface BillingConfig {
  readonly type: BillingType;
  /** Null removes the limit; undefined leaves it unchanged. */
  readonly budget?: Nano | null | undefined;
  /** Undefined keeps the period; a new limit defaults to monthly. */
  readonly period?: BudgetPeriod | undefined;
  readonly delegateUserId: number | null;
}

const dollars = (amount: Nano | null | undefined): string | null =>
  amount === null || amount === undefined ? null : formatUsd(amount);

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

  setCreditLimit(acting: ActorContext, target: EditTarget, limit: Nano): Promise<Changes> {
    const kind = { act: 'credit-limit', action: 'user.credit-limit-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const { creditLimit } = await this.ledger.wallet(user.id);
      if (creditLimit === limit) return {};
      if (
        limit > creditLimit &&
        user.organisationId !== null &&
        !atLeast(acting.actor.role, 'platform_admin')
      )
        await this.ceilings.requireHeadroom(tx, user.organisationId, limit - creditLimit);
      await this.limits.setCreditLimit(tx, user.id, limit);
      await this.followCredit(tx, acting, user.id, user.billingType);
      return changesOf({ credit_limit: dollars(creditLimit) }, { credit_limit: dollars(limit) });
    });
  }

  /** Platform budget; null removes it. */
  setMonthlyBudget(acting: ActorContext, target: EditTarget, budget: Nano | null): Promise<Changes> {
    const kind = { act: 'monthly-budget', action: 'user.monthly-budget-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const changes = await this.setMonthly(tx, user.id, budget);
      await this.followCredit(tx, acting, user.id, user.billingType);
      return changes;
    });
  }

  /** Temporary raise of the budget of `setConfig`; null ends the current one. */
  raiseBudget(acting: ActorContext, target: EditTarget, raise: RequestedRaise): Promise<Changes> {
    const kind = { act: 'budget-raise', action: 'user.budget-raised' } as const;
    const context = { ...target, by: acting.actor.userId };
    return this.editor.change(acting, target, kind, (tx, user) =>
      raiseBudget(this.raises, tx, { kind: 'user_budget', id: user.id }, raise, context),
    );
  }

  setConfig(acting: ActorContext, target: EditTarget, config: BillingConfig): Promise<Changes> {
    const kind = { act: 'billing-config', action: 'user.billing-config-changed' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const { type } = config;
      if (type === 'invoiced' && type !== user.billingType && !atLeast(acting.actor.role, 'platform_admin')) {
        throw fault('permission_denied', {
          message: 'Only the platform lets someone pay by invoice.',
          details: { reason: 'invoice' },
        });
      }
      const delegateUserId =
        type === 'delegated' ? await resolveDelegate(tx, user, config.delegateUserId) : null;
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

  /** Records an invoice payment that reached the operator; a repeated reference changes nothing. */
  recordPayment(acting: ActorContext, target: EditTarget, reference: string, amount: Nano): Promise<Changes> {
    const kind = { act: 'invoice-payment', action: 'user.invoice-paid' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const payment = await this.invoices.record(tx, user.id, reference, amount);
      return payment === null ? {} : changesOf(null, { paid_usd: dollars(amount), reference });
    });
  }

  undoPayment(acting: ActorContext, target: EditTarget, paymentId: number): Promise<Changes> {
    const kind = { act: 'invoice-payment-undo', action: 'user.invoice-payment-undone' } as const;
    return this.editor.change(acting, target, kind, async (tx, user) => {
      const payment = await this.invoices.undo(tx, user.id, paymentId);
      if (payment === null) return {};
      const { amount, reference } = payment;
      return changesOf({ paid_usd: dollars(amount), reference }, null);
    });
  }

  private async followCredit(
    tx: Tx,
    { actor }: ActorContext,
    userId: number,
    type: BillingType,
  ): Promise<void> {
    if (type !== 'invoiced') return;
    await this.invoices.updateCredit(tx, userId, atLeast(actor.role, 'platform_admin'));
  }

  private async leaveInvoices(tx: Tx, userId: number): Promise<Changes> {
    const owed = await this.invoices.moveToWallet(tx, userId);
    return changesOf(null, owed === 0n ? {} : { owed_moved_to_wallet_usd: dollars(owed) });
  }

  private async setMonthly(tx: Tx, userId: number, limit: Nano | null): Promise<Changes> {
    const scope = { kind: 'user', id: userId } as const;
    const before = await this.limits.state(scope, tx);
    // Raises with this scope were created by an earlier version, which had only one budget.
    const endedCount = await this.raises.endAll(tx, scope);
    if (limit === null) await this.limits.remove(tx, scope);
    else await this.limits.set(tx, scope, { limit, period: 'monthly' });
    return {
      ...changesOf({ monthly_budget: dollars(before?.limit) }, { monthly_budget: dollars(limit) }),
      ...(endedCount === 0 ? {} : changesOf({ raises: endedCount }, { raises: 0 })),
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

async function resolveDelegate(tx: Tx, user: UserAccount, delegateUserId: number | null): Promise<number> {
  if (delegateUserId === null || delegateUserId === user.id) {
    throw fault('invalid_request', {
      param: 'delegate_user_id',
      message: 'Say who pays: another account of the same organisation.',
      details: { reason: 'delegate' },
    });
  }
  const { organisationId } = user;
  const payer =
    organisationId === null
      ? null
      : await tx.getRepository(UserAccount).findOne({
          where: { id: delegateUserId, status: 'active', organisationId },
          lock: { mode: 'for_key_share' },
        });
  if (payer === null) throw notInOrganisationFault('delegate_user_id');
  await checkDelegateChain(tx, user.id, delegateUserId);
  return delegateUserId;
}

/**
 * Throws if the chain of delegates is circular or too long. Account changes are serialised, so the chain cannot change
 * meanwhile.
 */
async function checkDelegateChain(tx: Tx, userId: number, delegateUserId: number): Promise<void> {
  const chain = await readDelegateChain(tx, userId, delegateUserId);
  if (!chain.circle && chain.steps <= MAX_DELEGATES) return;
  throw fault('invalid_request', {
    param: 'delegate_user_id',
    message: chain.circle
      ? 'That account is paid for by this one: payers would go round in a circle.'
      : `Who pays would be found after more than ${MAX_DELEGATES} delegates. Name the payer directly.`,
    details: chain.circle ? { reason: 'delegate-circle' } : { reason: 'delegate-chain' },
  });
}
