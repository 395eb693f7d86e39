import { DAY_MS, type Nano } from '../../kernel';
import type { Database, Row } from '../../platform';
import { runsOutAt, unusualFrom } from '../statistics/spending';
import type { Condition, Look } from './look';
import type { SpendDays } from './spend-days';

const MOST = 5_000;
const NANO = 1_000_000_000;
const MOST_KEYS_BEFORE_DAYS = 90;

type WalletRow = Row<'billing_account', 'wallet_id'> & {
  readonly organisationId: number;
  readonly departmentId: number | null;
  readonly name: string;
  readonly balance: string;
  readonly low: string;
};

/** Wallets that somebody paid into by hand, of people of organisations. */
const wallets = (condition: string): string => `
  SELECT a.wallet_id, u.organisation_id, u.department_id, u.display_name AS name, b.balance::text AS balance,
         a.low_balance_nano::text AS low
    FROM billing_account a JOIN user_account u ON u.id = a.wallet_id
    JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = a.wallet_id
    CROSS JOIN LATERAL (SELECT w.limit_nano - w.spent - coalesce((SELECT r.limit_nano FROM spending_rule r
      WHERE r.kind = 'wallet' AND r.owner_id = a.wallet_id), 0) AS balance) AS b
   WHERE u.organisation_id IS NOT NULL AND u.status = 'active' AND NOT u.billing_exempt
     AND u.billing_type <> 'invoiced' AND ${condition}
     AND EXISTS (SELECT FROM payment p WHERE p.wallet_id = a.wallet_id AND p.state = 'paid')
   ORDER BY b.balance, a.wallet_id LIMIT ${MOST}`;

const ofWallet = ({ organisationId, departmentId, walletId, name, balance }: WalletRow) => ({
  owner: organisationId,
  departmentId,
  subject: `wallet ${walletId}`,
  facts: { name, balance_nano: balance },
});

/** The same wallets as those of the mails about low balances, by the limit that their owners set. */
export const walletsLow =
  (database: Database): Look =>
  async ({ parameters }) => {
    const rows = await database.rows<WalletRow>(wallets('b.balance < a.low_balance_nano'));
    return rows
      .filter(({ organisationId }) => parameters(organisationId) !== null)
      .map((row): Condition => ({ ...ofWallet(row), facts: { ...ofWallet(row).facts, low_nano: row.low } }));
  };

/** Where top-ups come by themselves, no wallet runs out. */
export const walletsForecast =
  (database: Database, days: SpendDays): Look =>
  async ({ now, parameters }) => {
    const rows = (
      await database.rows<WalletRow>(wallets('b.balance > 0 AND NOT (a.automatic AND a.failures = 0)'))
    ).filter(({ organisationId }) => parameters(organisationId) !== null);
    const spending = await days.of(
      rows.map(({ walletId }) => ({ scope: 'wallet', number: String(walletId) })),
      now,
    );
    return rows.flatMap((row, place): Condition[] => {
      const { history, today } = spending[place]!;
      const within = parameters(row.organisationId)?.days ?? 0;
      const at = runsOutAt(history, {
        left: Number(row.balance),
        today,
        now: now.getTime(),
        until: now.getTime() + within * DAY_MS,
      });
      if (at === null) return [];
      const about = ofWallet(row);
      return [{ ...about, facts: { ...about.facts, out_at: new Date(at).toISOString() } }];
    });
  };

type KeyRow = Row<'api_key', 'id, name'> & {
  readonly expiresAt: Date;
  readonly organisationId: number;
  readonly departmentId: number | null;
};

export const keysEnding =
  (database: Database): Look =>
  async ({ now, parameters }) => {
    const rows = await database.rows<KeyRow>(
      `SELECT k.id, k.name, k.expires_at, coalesce(k.organisation_id, u.organisation_id) AS organisation_id,
              coalesce(k.department_id, u.department_id) AS department_id
         FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
        WHERE k.status = 'active' AND k.expires_at > $1 AND k.expires_at < $2
          AND coalesce(k.organisation_id, u.organisation_id) IS NOT NULL
        ORDER BY k.expires_at, k.id LIMIT ${MOST}`,
      [now, new Date(now.getTime() + MOST_KEYS_BEFORE_DAYS * DAY_MS)],
    );
    return rows.flatMap(({ id, name, expiresAt, organisationId, departmentId }): Condition[] => {
      const within = parameters(organisationId)?.days ?? 0;
      if (expiresAt.getTime() - now.getTime() > within * DAY_MS) return [];
      const facts = { name, ends_at: expiresAt.toISOString() };
      return [{ owner: organisationId, departmentId, subject: `key ${id}`, facts }];
    });
  };

/** Organisations whose day costs far more than such a day usually does. */
export const spendAnomalies =
  (database: Database, days: SpendDays): Look =>
  async ({ now, parameters }) => {
    const begin = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const rows = await database.query<{ id: string; name: string; spent: string }>(
      `SELECT u.organisation_id::text AS id, o.name, sum(u.cost_nano)::text AS spent
         FROM usage_hour u JOIN organisation o ON o.id = u.organisation_id
        WHERE u.hour >= $1 GROUP BY 1, 2 HAVING sum(u.cost_nano) > 0 ORDER BY sum(u.cost_nano) DESC LIMIT ${MOST}`,
      [new Date(begin)],
    );
    const asked = rows.filter(({ id, spent }) => {
      const set = parameters(Number(id));
      return set !== null && Number(spent) > (set.dollars ?? 0) * NANO;
    });
    const spending = await days.of(
      asked.map(({ id }) => ({ scope: 'organisation', number: id })),
      now,
    );
    return asked.flatMap(({ id, name, spent }, place): Condition[] => {
      const { times = 3, dollars = 0 } = parameters(Number(id)) ?? {};
      const unusual = unusualFrom(spending[place]!.history, { at: begin, times, floor: dollars * NANO });
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
