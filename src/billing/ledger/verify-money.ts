import type { Database, Tx } from '../../platform';

export interface Discrepancy {
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

export interface MoneyCheck {
  readonly name: string;
  readonly checked: number;
  readonly wrong: readonly Discrepancy[];
}

export interface MoneyReport {
  readonly addsUp: boolean;
  readonly checks: readonly MoneyCheck[];
}

interface CheckRow {
  what: string;
  expected: string;
  found: string;
}

/** Each answers a row a thing that was checked. */
const checks: readonly { name: string; sql: string }[] = [
  {
    name: 'spent is the sum of the records',
    sql: `
      WITH kept AS (
        SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'),
      checked AS (
        SELECT w.* FROM spending_window w, kept WHERE w.kind <> 'wallet' AND w.ends_at > kept.since),
      hourly AS (
        SELECT date_trunc('hour', created_at, 'UTC') AS hour, sum(cost_nano) AS spent,
               CASE WHEN grouping(key_id) = 0 THEN 'key' WHEN grouping(project_id) = 0 THEN 'project'
                    WHEN grouping(department_id) = 0 THEN 'department' WHEN grouping(user_id) = 0 THEN 'user'
                    ELSE 'organisation' END AS kind,
               coalesce(key_id, project_id, department_id, user_id, organisation_id) AS owner_id
          FROM request_record WHERE cost_nano > 0 AND created_at >= (SELECT min(starts_at) FROM checked)
         GROUP BY date_trunc('hour', created_at, 'UTC'), GROUPING SETS
           ((key_id), (project_id), (department_id), (user_id), (organisation_id)))
      SELECT format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at) AS what,
             coalesce(sum(h.spent), 0)::text AS expected,
             CASE WHEN w.period = 'rolling' AND w.spent <> coalesce(
                    (SELECT sum(b.spent) FROM spending_bucket b WHERE b.window_id = w.id), 0)
                  THEN 'other than its buckets' ELSE w.spent::text END AS found
        FROM checked w LEFT JOIN hourly h ON h.kind = w.kind AND h.owner_id = w.owner_id
         AND h.hour >= w.starts_at AND h.hour < w.ends_at
       GROUP BY w.id, w.kind, w.owner_id, w.period, w.starts_at, w.spent`,
  },
  {
    name: 'escrowed is the sum of the slices',
    sql: `
      SELECT format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at) AS what,
             coalesce(sum(s.amount), 0)::text AS expected, w.escrowed::text AS found
        FROM spending_window w LEFT JOIN escrow_slice s ON s.window_id = w.id
       GROUP BY w.id, w.kind, w.owner_id, w.period, w.starts_at, w.escrowed`,
  },
  {
    name: 'a wallet is the sum of its entries',
    sql: `
      SELECT format('wallet %s', w.owner_id) AS what,
             format('balance %s, spent %s', coalesce(sum(e.amount), 0),
                    coalesce(-sum(e.amount) FILTER (WHERE t.kind = 'settlement'), 0)) AS expected,
             format('balance %s, spent %s', w.limit_nano - coalesce(r.limit_nano, 0) - w.spent, w.spent) AS found
        FROM spending_window w
        LEFT JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = w.owner_id
        LEFT JOIN ledger_account a ON a.kind = 'wallet' AND a.owner_id = w.owner_id
        LEFT JOIN ledger_entry e ON e.account_id = a.id
        LEFT JOIN ledger_transaction t ON t.id = e.transaction_id
       WHERE w.kind = 'wallet' GROUP BY w.id, w.owner_id, w.limit_nano, w.spent, r.limit_nano`,
  },
  {
    name: 'every transaction is zero',
    sql: `
      SELECT format('%s %s', t.kind, t.ref) AS what, '0 in two entries or more' AS expected,
             CASE WHEN coalesce(sum(e.amount), 0) = 0 AND count(e.*) >= 2 THEN '0 in two entries or more'
                  ELSE format('%s in %s', coalesce(sum(e.amount), 0), count(e.*)) END AS found
        FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id
       GROUP BY t.id, t.kind, t.ref`,
  },
  {
    name: 'every settlement is the sum of its records',
    // Where partitions were dropped, a settlement of the first days after them may have lost some of its records.
    sql: `
      WITH kept AS (
        SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'),
      settlement AS (
        SELECT t.id, t.created_at, e.amount FROM ledger_transaction t
          JOIN ledger_entry e ON e.transaction_id = t.id
          JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'usage' WHERE t.kind = 'settlement'),
      whole AS (
        SELECT CASE WHEN kept.since > (SELECT min(created_at) FROM settlement)
                    THEN kept.since + interval '3 days' ELSE '-infinity' END AS since FROM kept),
      recorded AS (
        SELECT settlement_id, sum(cost_nano) AS spent FROM request_record
         WHERE settlement_id IS NOT NULL GROUP BY settlement_id)
      SELECT format('settlement %s', coalesce(s.id, r.settlement_id)) AS what,
             coalesce(r.spent, 0)::text AS expected, coalesce(s.amount, 0)::text AS found
        FROM settlement s FULL JOIN recorded r ON r.settlement_id = s.id, whole
       WHERE s.id IS NULL OR s.created_at >= whole.since`,
  },
];

const mostShown = 100;

/** The equalities that hold whenever nothing was lost or done twice, also in the middle of traffic. */
export async function verifyMoney(database: Database): Promise<MoneyReport> {
  return database.transaction(allChecks, { isolation: 'REPEATABLE READ' });
}

/** Chosen once for this product; the number means nothing. */
const verificationLock = 5_719_026;

/** The same, unless somebody is at it already: null then. It reads all that was charged, for which once is enough. */
export async function verifyMoneyAlone(database: Database): Promise<MoneyReport | null> {
  return database.transaction(
    async (tx) => {
      const [lock] = await tx.query<{ free: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS free', [
        verificationLock,
      ]);
      return lock?.free === true ? allChecks(tx) : null;
    },
    { isolation: 'REPEATABLE READ' },
  );
}

async function allChecks(tx: Tx): Promise<MoneyReport> {
  const done: MoneyCheck[] = [];
  for (const check of checks) done.push(await run(tx, check.name, check.sql));
  return { addsUp: done.every(({ wrong }) => wrong.length === 0), checks: done };
}

async function run(tx: Tx, name: string, sql: string): Promise<MoneyCheck> {
  const rows = await tx.query<(CheckRow & { checked: string })[]>(
    `WITH result AS MATERIALIZED (${sql})
     SELECT counted.checked, wrong.* FROM (SELECT count(*) AS checked FROM result) AS counted
       LEFT JOIN (SELECT * FROM result WHERE expected <> found LIMIT ${mostShown}) AS wrong ON true`,
  );
  const wrong = rows
    .filter((row) => row.what !== null)
    .map(({ what, expected, found }) => ({ what, expected, found }));
  return { name, checked: Number(rows[0]?.checked ?? 0), wrong };
}
