import { Injectable } from '@nestjs/common';
import { budgetsOfUser, Limits, tightestOf } from '../../billing';
import type { ListedUser } from '../../identity';
import { Database, type TableRow } from '../../platform';
import { monthOfBudgets } from '../../web';
import type { UserLine } from './user-list';

/** Sums spending per user from hourly usage. Callers pass only accounts within the reader's scope. */
@Injectable()
export class UserSpending {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  async lines(users: readonly ListedUser[]): Promise<UserLine[]> {
    const ids = users.map(({ id }) => id);
    const [rows, budgets] = await Promise.all([
      this.database.rows<TableRow<'usage_hour', 'user_id'> & { readonly spent: string }>(
        `SELECT user_id, sum(cost_nano)::bigint AS spent FROM usage_hour
          WHERE user_id = ANY ($1::bigint[]) AND hour >= $2 GROUP BY user_id`,
        [ids, monthOfBudgets(Date.now()).from],
      ),
      this.limits.states(ids.flatMap(budgetsOfUser)),
    ]);
    const spent = new Map(rows.map((row) => [Number(row.userId), BigInt(row.spent)]));
    return users.map((user, index) => ({
      ...user,
      spent: spent.get(user.id) ?? 0n,
      budget: tightestOf(budgets.slice(2 * index, 2 * index + 2)),
    }));
  }
}
