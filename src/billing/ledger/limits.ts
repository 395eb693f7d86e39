import { Injectable, Optional } from '@nestjs/common';
import type { BudgetPeriod, Nano } from '../../kernel';
import { Database, OnOrganisationMerge, type OrganisationMerger, readRows, type Tx } from '../../platform';
import { MoneyEngine } from '../engine/money-engine';
import type { LimitRef, ScopeKind } from '../scope';

export type BudgetScope = LimitRef & { readonly kind: Exclude<ScopeKind, 'wallet'> };

export const isBudget = (ref: LimitRef): ref is BudgetScope => ref.kind !== 'wallet';

export interface LimitRule {
  readonly period: BudgetPeriod;
  readonly limit: Nano;
}

export interface LimitState extends LimitRule {
  /** Sum of the raises in force. */
  readonly raised: Nano;
  /** Time when the first raise in force ends; null if there is none. */
  readonly raisedUntil: Date | null;
  readonly spent: Nano;
  /** Never negative, although the limit can be below the spending. */
  readonly remaining: Nano;
  /** Time from which none of the current spending counts; null for a rolling window without spending. */
  readonly resetsAt: Date | null;
  /** Oldest spending of a rolling window, and when it leaves the window. */
  readonly freesNext: { readonly at: Date; readonly amount: Nano } | null;
}

interface LimitStateRow {
  readonly period: BudgetPeriod | null;
  readonly limitNano: string;
  readonly raised: string;
  readonly raisedUntil: Date | null;
  readonly spent: string;
  readonly resetsAt: Date | null;
  readonly freesAt: Date | null;
  readonly freesNano: string | null;
}

/** Spending limits by scope and period. A change applies from the commit of its transaction. */
@Injectable()
export class Limits {
  /** CLI commands run without an engine. */
  constructor(
    private readonly database: Database,
    @Optional() private readonly engine?: MoneyEngine,
  ) {}

  async set(tx: Tx, scope: BudgetScope, rule: LimitRule): Promise<void> {
    if (rule.limit < 0n) throw new RangeError('a limit cannot be negative');
    await setSpendingLimit(tx, scope, rule.period, rule.limit);
  }

  async remove(tx: Tx, scope: BudgetScope): Promise<void> {
    await setSpendingLimit(tx, scope, 'monthly', null);
  }

  @OnOrganisationMerge()
  async removeOfOrganisations(tx: Tx, { sourceIds }: OrganisationMerger): Promise<void> {
    for (const id of sourceIds) await this.remove(tx, { kind: 'organisation', id });
  }

  /** Sets how far below zero the wallet's balance can fall. */
  async setCreditLimit(tx: Tx, walletId: number, limit: Nano): Promise<void> {
    if (limit < 0n) throw new RangeError('a limit cannot be negative');
    await setSpendingLimit(tx, { kind: 'wallet', id: walletId }, 'lifetime', limit);
  }

  /** Returns null if there is no limit. */
  async state(scope: BudgetScope, tx?: Tx): Promise<LimitState | null> {
    return (await this.states([scope], tx))[0] ?? null;
  }

  /** Returns the budget with the least remaining; null if there is none. */
  async tightest(scopes: readonly BudgetScope[], tx?: Tx): Promise<LimitState | null> {
    return tightestOf(await this.states(scopes, tx));
  }

  /**
   * Returns the states in the order of the scopes, including everything this node has charged. Within a transaction,
   * they are as the transaction sees them.
   */
  async states(scopes: readonly BudgetScope[], tx?: Tx): Promise<(LimitState | null)[]> {
    if (tx === undefined) await this.engine?.waitUntilCommitted();
    const rows = await readRows<LimitStateRow>(
      tx ?? this.database,
      `SELECT scope.kind, scope.owner_id, s.*, f.*, budget_raised(scope.kind, scope.owner_id, clock_timestamp()) AS raised,
              (SELECT min(ends_at) FROM budget_raise r WHERE r.kind = scope.kind AND r.owner_id = scope.owner_id
                AND r.ended_at IS NULL AND r.ends_at > clock_timestamp()) AS raised_until
         FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS scope (kind, owner_id, place)
         CROSS JOIN LATERAL spending_state(scope.kind, scope.owner_id) s
         CROSS JOIN LATERAL spending_frees_next(scope.kind, scope.owner_id) f ORDER BY scope.place`,
      [scopes.map(({ kind }) => kind), scopes.map(({ id }) => id)],
    );
    return rows.map(stateOf);
  }
}

export const tightestOf = (states: readonly (LimitState | null)[]): LimitState | null =>
  states.reduce((one, other) => {
    if (one === null || other === null) return one ?? other;
    return other.remaining < one.remaining ? other : one;
  }, null);

async function setSpendingLimit(
  tx: Tx,
  ref: LimitRef,
  period: BudgetPeriod | 'lifetime',
  limit: Nano | null,
): Promise<void> {
  await tx.query('SELECT set_spending_limit($1, $2, $3, $4)', [
    ref.kind,
    ref.id,
    period,
    limit?.toString() ?? null,
  ]);
}

function stateOf(row: LimitStateRow): LimitState | null {
  if (row.period === null) return null;
  const limitInForce = BigInt(row.limitNano);
  const spent = BigInt(row.spent);
  const raised = BigInt(row.raised);
  return {
    period: row.period,
    limit: limitInForce - raised,
    raised,
    raisedUntil: row.raisedUntil,
    spent,
    remaining: limitInForce > spent ? limitInForce - spent : 0n,
    resetsAt: row.resetsAt,
    freesNext:
      row.freesAt === null || row.freesNano === null
        ? null
        : { at: row.freesAt, amount: BigInt(row.freesNano) },
  };
}
