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

/** A transaction takes less than this, so what is older than it was committed or never will be. */
const longestTransaction = `interval '10 minutes'`;

const accountSums = (which: string): string => `
  SELECT e.account_id, sum(e.amount) AS balance,
         coalesce(-sum(e.amount) FILTER (WHERE t.kind = 'settlement'), 0) AS spent
    FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
   WHERE ${which} GROUP BY e.account_id`;

/** What is checked of what came after the seal; `$1` is the seal, and long ago when all is to be read. */
const sinceSeal = `$1::timestamptz`;

/** Each answers a row a thing that was checked. */
const checks: readonly { name: string; sql: string; sealed: boolean }[] = [
  {
    name: 'spent is the sum of the records',
    sealed: false,
    sql: `
      WITH spending AS (
        SELECT 'key' AS kind, key_id AS owner_id, hour, cost_nano FROM usage_hour
        UNION ALL SELECT 'project', project_id, hour, cost_nano FROM usage_hour
        UNION ALL SELECT 'department', department_id, hour, cost_nano FROM usage_hour
        UNION ALL SELECT 'user', user_id, hour, cost_nano FROM usage_hour
        UNION ALL SELECT 'organisation', organisation_id, hour, cost_nano FROM usage_hour),
      checked AS (
        SELECT w.* FROM spending_window w WHERE w.kind <> 'wallet'),
      hourly AS (
        SELECT kind, owner_id, hour, sum(cost_nano) AS spent FROM spending
         WHERE cost_nano > 0 AND hour >= (SELECT min(starts_at) FROM checked) GROUP BY kind, owner_id, hour)
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
    name: 'an hour of usage is the sum of its records',
    sealed: true,
    // An hour may get records long after it is over, so those that got any are read whole. Dropped months are not.
    sql: `
      WITH kept AS (
        SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'),
      touched AS (
        SELECT date_trunc('hour', created_at, 'UTC') AS hour FROM request_record, kept
         WHERE settled_at >= ${sinceSeal} AND created_at >= kept.since
        UNION SELECT hour FROM usage_hour, kept WHERE NOT isfinite(${sinceSeal}) AND hour >= kept.since),
      recorded AS (
        SELECT touched.hour, r.key_id, count(*) AS requests, sum(r.cost_nano) AS spent
          FROM touched JOIN request_record r
            ON r.created_at >= touched.hour AND r.created_at < touched.hour + interval '1 hour'
         GROUP BY touched.hour, r.key_id),
      rolled AS (
        SELECT u.hour, u.key_id, sum(u.requests) AS requests, sum(u.cost_nano) AS spent
          FROM usage_hour u JOIN touched ON touched.hour = u.hour
         GROUP BY u.hour, u.key_id)
      SELECT format('key %s from %s', coalesce(r.key_id, u.key_id), coalesce(r.hour, u.hour)) AS what,
             format('%s in %s requests', coalesce(r.spent, 0), coalesce(r.requests, 0)) AS expected,
             format('%s in %s requests', coalesce(u.spent, 0), coalesce(u.requests, 0)) AS found
        FROM recorded r FULL JOIN rolled u ON u.hour = r.hour AND coalesce(u.key_id, 0) = coalesce(r.key_id, 0)`,
  },
  {
    name: 'escrowed is the sum of the slices',
    sealed: false,
    sql: `
      SELECT format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at) AS what,
             coalesce(sum(s.amount), 0)::text AS expected, w.escrowed::text AS found
        FROM spending_window w LEFT JOIN escrow_slice s ON s.window_id = w.id
       GROUP BY w.id, w.kind, w.owner_id, w.period, w.starts_at, w.escrowed`,
  },
  {
    name: 'a wallet is the sum of its entries',
    sealed: true,
    sql: `
      WITH entry AS (${accountSums('t.created_at >= $1::timestamptz')}),
      sealed AS (SELECT * FROM money_seal_account WHERE isfinite($1::timestamptz))
      SELECT format('wallet %s', w.owner_id) AS what,
             format('balance %s, spent %s', coalesce(sealed.balance, 0) + coalesce(entry.balance, 0),
                    coalesce(sealed.spent, 0) + coalesce(entry.spent, 0)) AS expected,
             format('balance %s, spent %s', w.limit_nano - coalesce(r.limit_nano, 0) - w.spent, w.spent) AS found
        FROM spending_window w
        LEFT JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = w.owner_id
        LEFT JOIN ledger_account a ON a.kind = 'wallet' AND a.owner_id = w.owner_id
        LEFT JOIN entry ON entry.account_id = a.id
        LEFT JOIN sealed ON sealed.account_id = a.id
       WHERE w.kind = 'wallet'`,
  },
  {
    name: 'every transaction is zero',
    sealed: true,
    sql: `
      SELECT format('%s %s', t.kind, t.ref) AS what, '0 in two entries or more' AS expected,
             CASE WHEN coalesce(sum(e.amount), 0) = 0 AND count(e.*) >= 2 THEN '0 in two entries or more'
                  ELSE format('%s in %s', coalesce(sum(e.amount), 0), count(e.*)) END AS found
        FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id
       WHERE t.created_at >= ${sinceSeal} GROUP BY t.id, t.kind, t.ref`,
  },
  {
    name: 'every settlement is the sum of its records',
    sealed: true,
    // Where partitions were dropped, a settlement of the first days after them may have lost some of its records.
    sql: `
      WITH kept AS (
        SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'),
      settlement AS (
        SELECT t.id, t.created_at, e.amount FROM ledger_transaction t
          JOIN ledger_entry e ON e.transaction_id = t.id
          JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'usage'
         WHERE t.kind = 'settlement' AND t.created_at >= ${sinceSeal}),
      whole AS (
        SELECT CASE WHEN kept.since > (SELECT min(created_at) FROM ledger_transaction WHERE kind = 'settlement')
                    THEN kept.since + interval '3 days' ELSE '-infinity' END AS since FROM kept),
      recorded AS (
        SELECT settlement_id, sum(cost_nano) AS spent, min(settled_at) AS settled_at FROM request_record
         WHERE settlement_id IS NOT NULL AND settled_at >= ${sinceSeal} - ${longestTransaction}
         GROUP BY settlement_id)
      SELECT format('settlement %s', coalesce(s.id, r.settlement_id)) AS what,
             coalesce(r.spent, 0)::text AS expected, coalesce(s.amount, 0)::text AS found
        FROM settlement s FULL JOIN recorded r ON r.settlement_id = s.id, whole
       WHERE (s.id IS NULL AND r.settled_at >= ${sinceSeal}) OR s.created_at >= whole.since`,
  },
];

const mostShown = 100;

/** `full` reads everything, else what came since the seal, and sums for the rest. */
export interface VerifyOptions {
  readonly full?: boolean;
}

/** The equalities that hold whenever nothing was lost or done twice, also in the middle of traffic. */
export async function verifyMoney(
  database: Database,
  { full = true }: VerifyOptions = {},
): Promise<MoneyReport> {
  return database.transaction(async (tx) => allChecks(tx, full ? null : await sealOf(tx)), {
    isolation: 'REPEATABLE READ',
  });
}

/** Chosen once for this product; the number means nothing. */
const verificationLock = 5_719_026;

/** The same, unless somebody is at it already: null then. What adds up is sealed, and not read again. */
export async function verifyMoneyAlone(
  database: Database,
  { full = false }: VerifyOptions = {},
): Promise<MoneyReport | null> {
  return database.transaction(
    async (tx) => {
      const [lock] = await tx.query<{ free: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS free', [
        verificationLock,
      ]);
      if (lock?.free !== true) return null;
      const since = full ? null : await sealOf(tx);
      const report = await allChecks(tx, since);
      if (report.addsUp) await seal(tx, since);
      return report;
    },
    { isolation: 'REPEATABLE READ' },
  );
}

async function sealOf(tx: Tx): Promise<string | null> {
  const [row] = await tx.query<{ sealed_to: string }[]>('SELECT sealed_to::text FROM money_seal');
  return row?.sealed_to ?? null;
}

/** Everything that was verified may be sealed but what running transactions may still add to. */
async function seal(tx: Tx, since: string | null): Promise<void> {
  const [row] = await tx.query<{ until: string }[]>(
    `SELECT (transaction_timestamp() - ${longestTransaction})::text AS until`,
  );
  const from = since ?? '-infinity';
  await tx.query(
    `INSERT INTO money_seal_account AS sealed (account_id, balance, spent)
     ${accountSums('t.created_at >= $1::timestamptz AND t.created_at < $2::timestamptz')}
     ON CONFLICT (account_id) DO UPDATE SET
       balance = CASE WHEN isfinite($1::timestamptz) THEN sealed.balance ELSE 0 END + excluded.balance,
       spent = CASE WHEN isfinite($1::timestamptz) THEN sealed.spent ELSE 0 END + excluded.spent`,
    [from, row?.until],
  );
  await tx.query(
    `INSERT INTO money_seal (sealed_to) VALUES ($1)
     ON CONFLICT (only_one) DO UPDATE SET sealed_to = greatest(money_seal.sealed_to, excluded.sealed_to)`,
    [row?.until],
  );
}

async function allChecks(tx: Tx, since: string | null): Promise<MoneyReport> {
  const done: MoneyCheck[] = [];
  for (const check of checks) {
    const parameters = check.sealed ? [since ?? '-infinity'] : [];
    done.push(await run(tx, check.name, check.sql, parameters));
  }
  return { addsUp: done.every(({ wrong }) => wrong.length === 0), checks: done };
}

async function run(tx: Tx, name: string, sql: string, parameters: readonly string[]): Promise<MoneyCheck> {
  const rows = await tx.query<(CheckRow & { checked: string })[]>(
    `WITH result AS MATERIALIZED (${sql})
     SELECT counted.checked, wrong.* FROM (SELECT count(*) AS checked FROM result) AS counted
       LEFT JOIN (SELECT * FROM result WHERE expected <> found LIMIT ${mostShown}) AS wrong ON true`,
    [...parameters],
  );
  const wrong = rows
    .filter((row) => row.what !== null)
    .map(({ what, expected, found }) => ({ what, expected, found }));
  return { name, checked: Number(rows[0]?.checked ?? 0), wrong };
}
