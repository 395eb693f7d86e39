import { DAY_MS, type Nano } from '../../kernel';
import type { Database, TableRow } from '../../platform';
import { forecastRunOut, findUnusualBound } from '../statistics/spending';
import type { AlertCondition, AlertDetector } from './detector';
import type { SpendDays } from './spend-days';

const MAX_ROWS = 5_000;
const NANO = 1_000_000_000;
const MAX_KEY_WARNING_DAYS = 90;

type WalletBalanceRow = TableRow<'billing_account', 'wallet_id'> & {
  readonly organisationId: number;
  readonly departmentId: number | null;
  readonly name: string;
  readonly balance: string;
  readonly low: string;
};

/** Wallets of organisations' users that received at least one payment. */
const walletsQuery = (condition: string): string => `
  SELECT a.wallet_id, u.organisation_id, u.department_id, u.display_name AS name, b.balance::text AS balance,
         a.low_balance_nano::text AS low
    FROM billing_account a JOIN user_account u ON u.id = a.wallet_id
    JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = a.wallet_id
    CROSS JOIN LATERAL (SELECT w.limit_nano - w.spent - coalesce((SELECT r.limit_nano FROM spending_rule r
      WHERE r.kind = 'wallet' AND r.owner_id = a.wallet_id), 0) AS balance) AS b
   WHERE u.organisation_id IS NOT NULL AND u.status = 'active' AND NOT u.billing_exempt
     AND u.billing_type <> 'invoiced' AND ${condition}
     AND EXISTS (SELECT FROM payment p WHERE p.wallet_id = a.wallet_id AND p.state = 'paid')
   ORDER BY b.balance, a.wallet_id LIMIT ${MAX_ROWS}`;

const walletCondition = ({ organisationId, departmentId, walletId, name, balance }: WalletBalanceRow) => ({
  owner: organisationId,
  departmentId,
  subject: `wallet ${walletId}`,
  facts: { name, balance_nano: balance },
});

/** Detects the wallets that the low-balance emails report, by their owners' limit. */
export const detectLowWallets =
  (database: Database): AlertDetector =>
  async ({ parameters }) => {
    const rows = await database.rows<WalletBalanceRow>(walletsQuery('b.balance < a.low_balance_nano'));
    return rows
      .filter(({ organisationId }) => parameters(organisationId) !== null)
      .map((row): AlertCondition => ({
        ...walletCondition(row),
        facts: { ...walletCondition(row).facts, low_nano: row.low },
      }));
  };

/** Wallets with automatic top-ups do not run out. */
export const detectWalletForecasts =
  (database: Database, days: SpendDays): AlertDetector =>
  async ({ now, parameters }) => {
    const rows = (
      await database.rows<WalletBalanceRow>(
        walletsQuery('b.balance > 0 AND NOT (a.automatic AND a.failures = 0)'),
      )
    ).filter(({ organisationId }) => parameters(organisationId) !== null);
    const spending = await days.of(
      rows.map(({ walletId }) => ({ scope: 'wallet', number: String(walletId) })),
      now,
    );
    return rows.flatMap((row, index): AlertCondition[] => {
      const { history, today } = spending[index]!;
      const warningDays = parameters(row.organisationId)?.days ?? 0;
      const at = forecastRunOut(history, {
        remaining: Number(row.balance),
        today,
        now: now.getTime(),
        until: now.getTime() + warningDays * DAY_MS,
      });
      if (at === null) return [];
      const condition = walletCondition(row);
      return [{ ...condition, facts: { ...condition.facts, out_at: new Date(at).toISOString() } }];
    });
  };

type ExpiringKeyRow = TableRow<'api_key', 'id, name'> & {
  readonly expiresAt: Date;
  readonly organisationId: number;
  readonly departmentId: number | null;
};

export const detectExpiringKeys =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const rows = await database.rows<ExpiringKeyRow>(
      `SELECT k.id, k.name, k.expires_at, coalesce(k.organisation_id, u.organisation_id) AS organisation_id,
              coalesce(k.department_id, u.department_id) AS department_id
         FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
        WHERE k.status = 'active' AND k.expires_at > $1 AND k.expires_at < $2
          AND coalesce(k.organisation_id, u.organisation_id) IS NOT NULL
        ORDER BY k.expires_at, k.id LIMIT ${MAX_ROWS}`,
      [now, new Date(now.getTime() + MAX_KEY_WARNING_DAYS * DAY_MS)],
    );
    return rows.flatMap(({ id, name, expiresAt, organisationId, departmentId }): AlertCondition[] => {
      const warningDays = parameters(organisationId)?.days ?? 0;
      if (expiresAt.getTime() - now.getTime() > warningDays * DAY_MS) return [];
      const facts = { name, ends_at: expiresAt.toISOString() };
      return [{ owner: organisationId, departmentId, subject: `key ${id}`, facts }];
    });
  };

/** Detects organisations that spend far more today than usual on the same weekday. */
export const detectSpendAnomalies =
  (database: Database, days: SpendDays): AlertDetector =>
  async ({ now, parameters }) => {
    const startOfDay = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const rows = await database.query<{ id: string; name: string; spent: string }>(
      `SELECT u.organisation_id::text AS id, o.name, sum(u.cost_nano)::text AS spent
         FROM usage_hour u JOIN organisation o ON o.id = u.organisation_id
        WHERE u.hour >= $1 GROUP BY 1, 2 HAVING sum(u.cost_nano) > 0 ORDER BY sum(u.cost_nano) DESC LIMIT ${MAX_ROWS}`,
      [new Date(startOfDay)],
    );
    const candidates = rows.filter(({ id, spent }) => {
      const thresholds = parameters(Number(id));
      return thresholds !== null && Number(spent) > (thresholds.dollars ?? 0) * NANO;
    });
    const spending = await days.of(
      candidates.map(({ id }) => ({ scope: 'organisation', number: id })),
      now,
    );
    return candidates.flatMap(({ id, name, spent }, index): AlertCondition[] => {
      const { times = 3, dollars = 0 } = parameters(Number(id)) ?? {};
      const unusual = findUnusualBound(spending[index]!.history, {
        at: startOfDay,
        times,
        floor: dollars * NANO,
      });
      if (unusual === null || Number(spent) <= unusual.bound) return [];
      const usual: Nano = BigInt(Math.round(unusual.usual));
      return [
        {
          owner: Number(id),
          subject: 'day',
          facts: { name, spent_nano: spent, usual_nano: usual.toString() },
        },
      ];
    });
  };
