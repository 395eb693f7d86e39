import { Injectable } from '@nestjs/common';
import { budgetsOfPerson, Limits, tightestOf } from '../../billing';
import type { ListedUser } from '../../identity';
import type { Nano } from '../../kernel';
import { Database } from '../../platform';
import type { UserLine } from './user-list';

export interface ModelSpend {
  readonly model: string;
  readonly requests: number;
  readonly failures: number;
  readonly tokens: number;
  readonly cost: Nano;
}

const MOST_MODELS = 100;

/** Spending by person, summed from the hours of usage. The caller found the accounts within the reader's scope. */
@Injectable()
export class UserSpending {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  async lines(users: readonly ListedUser[]): Promise<UserLine[]> {
    const ids = users.map(({ id }) => id);
    const [rows, budgets] = await Promise.all([
      this.database.query<{ user_id: string; spent: string }>(
        `SELECT user_id, sum(cost_nano)::bigint AS spent FROM usage_hour
          WHERE user_id = ANY ($1::bigint[]) AND hour >= date_trunc('month', now(), 'UTC') GROUP BY user_id`,
        [ids],
      ),
      this.limits.states(ids.flatMap(budgetsOfPerson)),
    ]);
    const spent = new Map(rows.map((row) => [Number(row.user_id), BigInt(row.spent)]));
    return users.map((user, place) => ({
      ...user,
      spent: spent.get(user.id) ?? 0n,
      budget: tightestOf(budgets.slice(2 * place, 2 * place + 2)),
    }));
  }

  /** Of the last thirty days, the dearest first. */
  async byModel(userId: number): Promise<ModelSpend[]> {
    const rows = await this.database.query<{
      model: string | null;
      requests: string;
      failures: string;
      tokens: string;
      cost: string;
    }>(
      `SELECT coalesce(model, served_model) AS model, sum(requests) AS requests, sum(failures) AS failures,
              sum(input_tokens + output_tokens) AS tokens, sum(cost_nano)::bigint AS cost
         FROM usage_hour WHERE user_id = $1 AND hour >= date_trunc('hour', now()) - interval '30 days'
        GROUP BY 1 ORDER BY cost DESC, 1 LIMIT $2`,
      [userId, MOST_MODELS],
    );
    return rows.map((row) => ({
      model: row.model ?? '–',
      requests: Number(row.requests),
      failures: Number(row.failures),
      tokens: Number(row.tokens),
      cost: BigInt(row.cost),
    }));
  }
}
