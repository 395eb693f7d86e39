import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { BudgetRaises, type BudgetScope, CreditCeilings, Limits, type LimitState } from '../../billing';
import { formatUsd, type Nano } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { monthOfBudgets } from '../../web';
import type { BudgetRaiseForm } from '../pages/admin.dto';
import { raiseBudget, raiseOf } from '../pages/budget-raise';
import { targetOf } from '../pages/form-values';

export type WithBudget<Row> = Row & {
  readonly spent: Nano;
  readonly budget: Nano | null;
  readonly rule: LimitState | null;
};

type BudgetOwnerKind = 'organisation' | 'department' | 'project';

@Injectable()
export class Budgets {
  constructor(
    private readonly limits: Limits,
    private readonly raises: BudgetRaises,
    private readonly ceilings: CreditCeilings,
    private readonly database: Database,
  ) {}

  /** Undefined leaves the budget alone; null removes it. */
  async set(tx: Tx, scope: BudgetScope, budget: Nano | null | undefined): Promise<Changes> {
    if (budget === undefined) return {};
    const before = await this.limits.state(scope, tx);
    if ((before?.limit ?? null) === budget) return {};
    if (budget === null) await this.limits.remove(tx, scope);
    else await this.limits.set(tx, scope, { limit: budget, period: 'monthly' });
    const text = (amount: Nano | null | undefined) =>
      amount === null || amount === undefined ? null : formatUsd(amount);
    return changesOf({ monthly_budget: text(before?.limit) }, { monthly_budget: text(budget) });
  }

  /** Undefined leaves the ceiling of credit limits alone; null or zero allows no credit limits. */
  async setCreditCeiling(tx: Tx, organisationId: number, ceiling: Nano | null | undefined): Promise<Changes> {
    if (ceiling === undefined) return {};
    const previous = await this.ceilings.set(tx, organisationId, ceiling ?? 0n);
    return changesOf({ credit_ceiling: formatUsd(previous) }, { credit_ceiling: formatUsd(ceiling ?? 0n) });
  }

  prepareRaise(scope: BudgetScope, form: BudgetRaiseForm, by: number): (tx: Tx) => Promise<Changes> {
    const raise = raiseOf(form);
    const context = { ...targetOf(scope.id, form), by };
    return (tx) => raiseBudget(this.raises, tx, scope, raise, context);
  }

  remove(tx: Tx, scope: BudgetScope): Promise<void> {
    return this.limits.remove(tx, scope);
  }

  states(kind: BudgetScope['kind'], ids: readonly number[]): Promise<(LimitState | null)[]> {
    return this.limits.states(ids.map((id) => ({ kind, id })));
  }

  async withBudgets<Row extends { readonly id: number }>(
    kind: BudgetOwnerKind,
    rows: readonly Row[],
  ): Promise<WithBudget<Row>[]> {
    const ids = rows.map(({ id }) => id);
    const [spent, states] = await Promise.all([this.spent(kind, ids), this.states(kind, ids)]);
    return rows.map((row, index) => ({
      ...row,
      spent: spent.get(row.id) ?? 0n,
      budget: states[index]?.limit ?? null,
      rule: states[index] ?? null,
    }));
  }

  private async spent(kind: BudgetOwnerKind, ids: readonly number[]): Promise<Map<number, Nano>> {
    const rows = await this.database.query<{ id: string; spent: string }>(
      `SELECT ${kind}_id AS id, sum(cost_nano)::bigint AS spent FROM usage_hour
        WHERE ${kind}_id = ANY ($1::bigint[]) AND hour >= $2 GROUP BY 1`,
      [ids, monthOfBudgets(Date.now()).from],
    );
    return new Map(rows.map((row) => [Number(row.id), BigInt(row.spent)]));
  }
}
