import { DAY_MS } from '../../kernel';
import type { Database, Row } from '../../platform';
import type { Severity } from '../catalogue/kinds';
import type { Parameters } from '../catalogue/parameters';
import { HISTORY_DAYS, runsOutAt } from '../statistics/spending';
import type { Condition, Look } from './look';
import { type SpendScope, SpendDays } from './spend-days';

const MOST = 5_000;
/** Budgets of which less is used are not worth a forecast. */
const LEAST_FORECAST_PERCENT = 25;
const MOST_FORECASTS = 500;
const GRADES: readonly Severity[] = ['info', 'warning', 'urgent'];

type BudgetRow = Row<'spending_window', 'kind, owner_id, spent, limit_nano, ends_at'> & {
  readonly period: string;
  readonly organisationId: number;
  readonly departmentId: number | null;
  readonly name: string;
};

/** The fullest budgets in force, of which at least `$1` per cent is used, with the organisation that they are in. */
const BUDGETS = `
  SELECT w.kind, w.owner_id, w.period, w.spent, w.limit_nano, w.ends_at, o.organisation_id, o.department_id, o.name
    FROM (SELECT * FROM spending_window w
           WHERE w.kind <> 'wallet' AND w.limit_nano > 0 AND w.starts_at <= $2 AND w.ends_at > $2
             AND w.spent::numeric * 100 >= w.limit_nano::numeric * $1
             AND EXISTS (SELECT FROM spending_rule r WHERE r.kind = w.kind AND r.owner_id = w.owner_id
                   AND r.period = w.period AND r.limit_nano IS NOT NULL)
           ORDER BY w.spent::numeric / w.limit_nano DESC, w.id LIMIT $3) AS w
    CROSS JOIN LATERAL (
      SELECT coalesce(k.organisation_id, u.organisation_id) AS organisation_id,
             coalesce(k.department_id, u.department_id) AS department_id, k.name
        FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
       WHERE w.kind = 'key' AND k.id = w.owner_id AND k.status = 'active'
      UNION ALL SELECT coalesce(k.organisation_id, u.organisation_id), coalesce(k.department_id, u.department_id),
             k.name || ': ' || m.model
        FROM key_model m JOIN api_key k ON k.id = m.key_id LEFT JOIN user_account u ON u.id = k.user_id
       WHERE w.kind = 'key_model' AND m.id = w.owner_id AND k.status = 'active'
      UNION ALL SELECT u.organisation_id, u.department_id, u.display_name FROM user_account u
       WHERE w.kind IN ('user', 'user_budget') AND u.id = w.owner_id
      UNION ALL SELECT p.organisation_id, NULL, p.name FROM project p WHERE w.kind = 'project' AND p.id = w.owner_id
      UNION ALL SELECT d.organisation_id, d.id, d.name FROM department d WHERE w.kind = 'department' AND d.id = w.owner_id
      UNION ALL SELECT g.id, NULL, g.name FROM organisation g WHERE w.kind = 'organisation' AND g.id = w.owner_id
    ) AS o
   WHERE o.organisation_id IS NOT NULL`;

/** The highest step that is reached, the first of which is 0; null below all of them. */
function stepOf({ spent, limitNano }: BudgetRow, { first, second, third }: Parameters): number | null {
  const steps = [first ?? 50, second ?? 80, third ?? 100].sort((one, other) => one - other);
  const reached = steps.filter((step) => BigInt(spent) * 100n >= BigInt(limitNano) * BigInt(step));
  return reached.length === 0 ? null : reached.length - 1;
}

const shown = ({ kind, name, spent, limitNano }: BudgetRow) => ({
  what: kind === 'key_model' ? 'key' : kind,
  name,
  percent: Number((BigInt(spent) * 100n) / BigInt(limitNano)),
  spent_nano: spent,
  limit_nano: limitNano,
});

export const budgetsUsed =
  (database: Database): Look =>
  async ({ now, parameters, least }) => {
    const lowest = Math.min(least('first'), least('second'), least('third'));
    const rows = await database.rows<BudgetRow>(BUDGETS, [lowest, now, MOST]);
    return rows.flatMap((row): Condition[] => {
      const set = parameters(row.organisationId);
      const step = set === null ? null : stepOf(row, set);
      if (step === null) return [];
      return [
        {
          owner: row.organisationId,
          departmentId: row.departmentId,
          subject: `${row.kind} ${row.ownerId}`,
          severity: GRADES[step]!,
          facts: shown(row),
        },
      ];
    });
  };

const scopeOf: Readonly<Record<string, SpendScope>> = {
  key: 'key',
  user: 'user',
  user_budget: 'user',
  project: 'project',
  department: 'department',
  organisation: 'organisation',
};

/** Budgets of a week or a month that will be used up before their period ends, should spending go on as usual. */
export const budgetsForecast =
  (database: Database, days: SpendDays): Look =>
  async ({ now, parameters }) => {
    const found = await database.rows<BudgetRow>(BUDGETS, [LEAST_FORECAST_PERCENT, now, MOST_FORECASTS]);
    const rows = found.filter(
      ({ kind, period, spent, limitNano, organisationId }) =>
        scopeOf[kind] !== undefined &&
        (period === 'weekly' || period === 'monthly') &&
        BigInt(spent) < BigInt(limitNano) &&
        parameters(organisationId) !== null,
    );
    const spending = await days.of(
      rows.map(({ kind, ownerId }) => ({ scope: scopeOf[kind]!, number: ownerId })),
      now,
    );
    return rows.flatMap((row, place): Condition[] => {
      const { history, today } = spending[place]!;
      const at = runsOutAt(history, {
        left: Number(BigInt(row.limitNano) - BigInt(row.spent)),
        today,
        now: now.getTime(),
        until: Math.min(row.endsAt.getTime(), now.getTime() + HISTORY_DAYS * DAY_MS),
      });
      if (at === null) return [];
      return [
        {
          owner: row.organisationId,
          departmentId: row.departmentId,
          subject: `${row.kind} ${row.ownerId}`,
          facts: {
            ...shown(row),
            out_at: new Date(at).toISOString(),
            ends_at: row.endsAt.toISOString(),
          },
        },
      ];
    });
  };
