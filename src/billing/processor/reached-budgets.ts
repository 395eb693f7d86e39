import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { type BudgetScope, Limits, type LimitState } from '../ledger/limits';
import type { BudgetNotice } from './billing-mails';

/** A budget of which half or more is used, for those whom its mails go to. */
export interface ReachedBudget {
  readonly kind: BudgetNotice['kind'];
  readonly name: string | null;
  /** The budget is that of a key, or of a model with the key, where this is set. */
  readonly keyId: number | null;
  readonly state: LimitState;
}

interface HeldBudget {
  readonly kind: BudgetScope['kind'];
  readonly id: number;
  readonly name: string | null;
  readonly keyId: number | null;
}

const MOST_READ = 100;

/** A person hears of their own scopes, their projects', and those of the department or organisation that they lead. */
const held = `
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

/** The page's side of the mails about budgets: the same budgets, for the same people, from 50 per cent on. */
@Injectable()
export class ReachedBudgets {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  /** The fullest first. */
  async ofPerson(userId: number, most: number): Promise<ReachedBudget[]> {
    const rows = await this.database.rows<HeldBudget>(
      `SELECT h.kind, h.owner_id::integer AS id, h.what AS name, h.key_id FROM (${held}) AS h
         JOIN spending_rule r ON r.kind = h.kind AND r.owner_id = h.owner_id AND r.limit_nano IS NOT NULL
         LEFT JOIN spending_window w ON w.kind = r.kind AND w.owner_id = r.owner_id AND w.period = r.period
          AND w.starts_at <= now() AND w.ends_at > now()
        WHERE r.limit_nano = 0 OR w.spent >= w.limit_nano / 2
        ORDER BY w.spent::numeric / nullif(w.limit_nano, 0) DESC NULLS FIRST, h.owner_id LIMIT ${MOST_READ}`,
      [userId],
    );
    // Only the state knows what a rolling window has lost since the last request, and what is raised.
    const states = await this.limits.states(rows);
    return rows
      .flatMap((row, place) => {
        const state = states[place] ?? null;
        if (state === null || shareOf(state) < 0.5) return [];
        const kind = row.kind === 'key_model' ? 'key' : row.kind;
        return [{ kind, name: row.name, keyId: row.keyId, state }];
      })
      .toSorted((one, other) => shareOf(other.state) - shareOf(one.state))
      .slice(0, most);
  }
}

/** The used share of what is in force. */
export const shareOf = ({ limit, raised, spent }: LimitState): number => {
  const inForce = limit + raised;
  return inForce <= 0n ? 1 : Number((spent * 10_000n) / inForce) / 10_000;
};
