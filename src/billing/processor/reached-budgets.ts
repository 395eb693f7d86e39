import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { type BudgetScope, Limits, type LimitState } from '../ledger/limits';
import type { BudgetNotice } from './billing-mails';

export interface ReachedBudget {
  readonly kind: BudgetNotice['kind'];
  readonly name: string | null;
  /** Set for the budget of a key, or of a model of a key; otherwise null. */
  readonly keyId: number | null;
  readonly state: LimitState;
}

interface OwnedBudget {
  readonly kind: BudgetScope['kind'];
  readonly id: number;
  readonly name: string | null;
  readonly keyId: number | null;
}

const MAX_ROWS = 100;

/** Scopes of a user: their own, their projects', and those of the department or organisation that they lead. */
const ownedBudgets = `
  SELECT 'key' AS kind, k.id::bigint AS owner_id, k.name AS what, k.id AS key_id
    FROM api_key k WHERE k.user_id = $1 AND k.status = 'active'
  UNION ALL SELECT 'key_model', m.id, k.name || ': ' || m.model, k.id
    FROM api_key k JOIN key_model m ON m.key_id = k.id WHERE k.user_id = $1 AND k.status = 'active'
  UNION ALL SELECT unnest(ARRAY['user', 'user_budget']), $1, NULL, NULL
  UNION ALL SELECT 'project', p.id, p.name, NULL FROM project p
   WHERE p.archived_at IS NULL AND coalesce(p.billing_user_id, p.created_by) = $1
  UNION ALL SELECT 'department', d.id, d.name, NULL FROM user_account a JOIN department d ON d.id = a.department_id
   WHERE a.id = $1 AND a.role = 'department_admin'
  UNION ALL SELECT 'organisation', o.id, o.name, NULL FROM user_account a JOIN organisation o ON o.id = a.organisation_id
   WHERE a.id = $1 AND a.role = 'org_owner'`;

@Injectable()
export class ReachedBudgets {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  /** Returns the most used budgets first. */
  async listForUser(userId: number, maxBudgets: number): Promise<ReachedBudget[]> {
    const rows = await this.database.rows<OwnedBudget>(
      `SELECT h.kind, h.owner_id::integer AS id, h.what AS name, h.key_id FROM (${ownedBudgets}) AS h
         JOIN spending_rule r ON r.kind = h.kind AND r.owner_id = h.owner_id AND r.limit_nano IS NOT NULL
         LEFT JOIN spending_window w ON w.kind = r.kind AND w.owner_id = r.owner_id AND w.period = r.period
          AND w.starts_at <= now() AND w.ends_at > now()
        WHERE r.limit_nano = 0 OR w.spent >= w.limit_nano / 2
        ORDER BY w.spent::numeric / nullif(w.limit_nano, 0) DESC NULLS FIRST, h.owner_id LIMIT ${MAX_ROWS}`,
      [userId],
    );
    // Only the limit's state knows what a rolling window has lost since the last request, and what was raised.
    const states = await this.limits.states(rows);
    return rows
      .flatMap((row, index) => {
        const state = states[index] ?? null;
        if (state === null || shareOf(state) < 0.5) return [];
        const kind = row.kind === 'key_model' ? 'key' : row.kind;
        return [{ kind, name: row.name, keyId: row.keyId, state }];
      })
      .toSorted((one, other) => shareOf(other.state) - shareOf(one.state))
      .slice(0, maxBudgets);
  }
}

export const shareOf = ({ limit, raised, spent }: LimitState): number => {
  const limitInForce = limit + raised;
  return limitInForce <= 0n ? 1 : Number((spent * 10_000n) / limitInForce) / 10_000;
};
