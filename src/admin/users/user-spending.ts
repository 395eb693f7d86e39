import { Injectable } from '@nestjs/common';
import { budgetsOfPerson, Limits, tightestOf } from '../../billing';
import type { ListedUser } from '../../identity';
import { Database, type Row } from '../../platform';
import { monthOfBudgets } from '../../web';
import type { UserLine } from './user-list';

/** Sums spending by person from the hours of usage. The caller found the accounts within the reader's scope. */
@Injectable()
export class UserSpending {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  async lines(users: readonly ListedUser[]): Promise<UserLine[]> {
    const ids = users.map(({ id }) => id);
    const [rows, budgets] = await Promise.all([
      this.database.rows<Row<'usage_hour', 'user_id'> & { readonly spent: string }>(
        `SELECT user_id, sum(cost_nano)::bigint AS spent FROM usage_hour
          WHERE user_id = ANY ($1::bigint[]) AND hour >= $2 GROUP BY user_id`,
        [ids, monthOfBudgets(Date.now()).from],
      ),
      this.limits.states(ids.flatMap(budgetsOfPerson)),
    ]);
    const spent = new Map(rows.map((row) => [Number(row.userId), BigInt(row.spent)]));
    return users.map((user, place) => ({
      ...user,
      spent: spent.get(user.id) ?? 0n,
      budget: tightestOf(budgets.slice(2 * place, 2 * place + 2)),
    }));
  }
}
