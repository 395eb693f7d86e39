import { Injectable } from '@nestjs/common';
import { DAY_MS, fault, type Nano } from '../../kernel';
import { Database, type TableRow, type Tx } from '../../platform';
import { type BudgetScope, Limits } from './limits';

export interface NewBudgetRaise {
  readonly amount: Nano;
  readonly reason: string;
  readonly endsAt: Date;
  /** Id of the administrator who raises the budget. */
  readonly by: number;
}

export interface BudgetRaise extends Omit<NewBudgetRaise, 'by'> {
  readonly id: number;
  readonly createdAt: Date;
  /** The administrator's name; null once the account is gone. */
  readonly createdBy: string | null;
  /** Null while the raise is in force. */
  readonly endedAt: Date | null;
}

const MAX_LISTED = 20;
const MAX_IN_FORCE = 20;
const MAX_DURATION_MS = 366 * DAY_MS;

/** Temporary raises of budgets. Raises end automatically: every node checks when it renews its lease. */
@Injectable()
export class BudgetRaises {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  /** Takes effect with the commit. Returns the id of the raise. */
  async raise(tx: Tx, scope: BudgetScope, { amount, reason, endsAt, by }: NewBudgetRaise): Promise<number> {
    const durationMs = endsAt.getTime() - Date.now();
    if (durationMs <= 0 || durationMs > MAX_DURATION_MS)
      throw fault('invalid_request', {
        param: 'raise_until',
        message: 'raise_until has to be in the future, within a year.',
      });
    if ((await this.limits.state(scope, tx)) === null)
      throw fault('conflict', { message: 'There is no budget that could be raised. Set one first.' });
    const [active] = await tx.query<[{ count: number }]>(
      `SELECT count(*)::integer AS count FROM budget_raise
        WHERE kind = $1 AND owner_id = $2 AND ended_at IS NULL AND ends_at > clock_timestamp()`,
      [scope.kind, scope.id],
    );
    if (active.count >= MAX_IN_FORCE)
      throw fault('conflict', { message: `A budget can be raised ${MAX_IN_FORCE} times at once at most.` });
    const [created] = await tx.query<[{ id: string }]>('SELECT raise_budget($1, $2, $3, $4, $5, $6) AS id', [
      scope.kind,
      scope.id,
      amount.toString(),
      reason,
      endsAt,
      by,
    ]);
    return Number(created.id);
  }

  /** Ends the raise early. Returns false if it has ended already. */
  async end(tx: Tx, scope: BudgetScope, id: number): Promise<boolean> {
    const [row] = await tx.query<[{ ended: boolean }]>('SELECT end_budget_raise($1, $2, $3) AS ended', [
      scope.kind,
      scope.id,
      id,
    ]);
    return row.ended;
  }

  /** Ends all raises that are in force; returns their number. */
  async endAll(tx: Tx, scope: BudgetScope): Promise<number> {
    const ended = await tx.query<{ ended: boolean }[]>(
      `SELECT end_budget_raise(kind, owner_id, id) AS ended FROM budget_raise
        WHERE kind = $1 AND owner_id = $2 AND ended_at IS NULL ORDER BY id`,
      [scope.kind, scope.id],
    );
    return ended.filter((row) => row.ended).length;
  }

  async list(scope: BudgetScope): Promise<BudgetRaise[]> {
    const rows = await this.database.rows<
      Omit<BudgetRaise, 'id' | 'amount'> & TableRow<'budget_raise', 'id, amount_nano'>
    >(
      `SELECT r.id, r.amount_nano, r.reason, r.ends_at, r.created_at, u.display_name AS created_by,
              CASE WHEN r.ended_at IS NULL AND r.ends_at <= clock_timestamp() THEN r.ends_at ELSE r.ended_at END AS ended_at
         FROM budget_raise r LEFT JOIN user_account u ON u.id = r.created_by
        WHERE r.kind = $1 AND r.owner_id = $2 ORDER BY r.id DESC LIMIT ${MAX_LISTED}`,
      [scope.kind, scope.id],
    );
    return rows.map(({ id, amountNano, ...raise }) => ({
      ...raise,
      id: Number(id),
      amount: BigInt(amountNano),
    }));
  }
}
