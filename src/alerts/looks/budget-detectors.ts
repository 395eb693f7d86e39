import { DAY_MS } from '../../kernel';
import type { Database, TableRow } from '../../platform';
import type { Severity } from '../catalogue/kinds';
import type { AlertParameters } from '../catalogue/parameters';
import { HISTORY_DAYS, forecastRunOut } from '../statistics/spending';
import type { AlertCondition, AlertDetector } from './detector';
import { type SpendScope, SpendDays } from './spend-days';

const MAX_BUDGETS = 5_000;
const MIN_FORECAST_PERCENT = 25;
const MAX_FORECASTS = 500;
const STEP_SEVERITIES: readonly Severity[] = ['info', 'warning', 'urgent'];

type BudgetRow = TableRow<'spending_window', 'kind, owner_id, spent, limit_nano, ends_at'> & {
  readonly period: string;
  readonly organisationId: number;
  readonly departmentId: number | null;
  readonly name: string;
};

/** Fullest budgets in force with at least `$1` per cent used, with their organisation. */
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

/** Index of the highest step reached; null below all steps. */
function stepOf({ spent, limitNano }: BudgetRow, { first, second, third }: AlertParameters): number | null {
  const steps = [first ?? 50, second ?? 80, third ?? 100].sort((one, other) => one - other);
  const reached = steps.filter((step) => BigInt(spent) * 100n >= BigInt(limitNano) * BigInt(step));
  return reached.length === 0 ? null : reached.length - 1;
}

const factsOf = ({ kind, name, spent, limitNano }: BudgetRow) => ({
  what: kind === 'key_model' ? 'key' : kind,
  name,
  percent: Number((BigInt(spent) * 100n) / BigInt(limitNano)),
  spent_nano: spent,
  limit_nano: limitNano,
});

export const detectUsedBudgets =
  (database: Database): AlertDetector =>
  async ({ now, parameters, minimum }) => {
    const lowestStep = Math.min(minimum('first'), minimum('second'), minimum('third'));
    const rows = await database.rows<BudgetRow>(BUDGETS, [lowestStep, now, MAX_BUDGETS]);
    return rows.flatMap((row): AlertCondition[] => {
      const thresholds = parameters(row.organisationId);
      const step = thresholds === null ? null : stepOf(row, thresholds);
      if (step === null) return [];
      return [
        {
          owner: row.organisationId,
          departmentId: row.departmentId,
          subject: `${row.kind} ${row.ownerId}`,
          severity: STEP_SEVERITIES[step]!,
          facts: factsOf(row),
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

/** Detects weekly and monthly budgets that run out before their period ends if spending continues as usual. */
export const detectBudgetForecasts =
  (database: Database, days: SpendDays): AlertDetector =>
  async ({ now, parameters }) => {
    const budgets = await database.rows<BudgetRow>(BUDGETS, [MIN_FORECAST_PERCENT, now, MAX_FORECASTS]);
    const rows = budgets.filter(
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
    return rows.flatMap((row, index): AlertCondition[] => {
      const { history, today } = spending[index]!;
      const at = forecastRunOut(history, {
        remaining: Number(BigInt(row.limitNano) - BigInt(row.spent)),
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
            ...factsOf(row),
            out_at: new Date(at).toISOString(),
            ends_at: row.endsAt.toISOString(),
          },
        },
      ];
    });
  };
