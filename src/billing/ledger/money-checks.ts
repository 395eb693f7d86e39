/** No transaction takes longer than this, so older ones were committed or never will be. */
export const longestTransaction = `interval '10 minutes'`;

export const accountSums = (which: string): string => `
  SELECT e.account_id, sum(e.amount) AS balance,
         coalesce(-sum(e.amount) FILTER (WHERE t.kind = 'settlement'), 0) AS spent
    FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
   WHERE ${which} GROUP BY e.account_id`;

/** The check of records after the seal; `$1` is the seal, or a distant past for a full check. */
const sinceSeal = `$1::timestamptz`;

/** The hour from which on all records are kept: older ones were dropped with their months. */
export const keptRecords = `
  SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'`;

const scopes = ['key', 'project', 'department', 'user', 'organisation', 'key_model'];

/** What the records settled since then cost each scope, hour by hour. */
export const recordedSince = (instant: string): string => `
  SELECT scope.kind, scope.owner_id, r.hour, sum(r.spent) AS spent
    FROM (SELECT date_trunc('hour', created_at, 'UTC') AS hour, ${scopes.map((scope) => `${scope}_id`).join(', ')},
                 sum(cost_nano) AS spent FROM request_record
           WHERE settled_at >= ${instant} AND isfinite(${instant}) AND cost_nano > 0
           GROUP BY 1, 2, 3, 4, 5, 6, 7) AS r
    CROSS JOIN LATERAL (VALUES ${scopes.map((scope) => `('${scope}', r.${scope}_id)`).join(', ')}) AS scope (kind, owner_id)
   WHERE scope.owner_id IS NOT NULL GROUP BY scope.kind, scope.owner_id, r.hour`;

/** What the scope of window `w` used between two hours. Each branch reads an index of its own, or nothing. */
const usedBetween = (from: string, to: string): string => `
  coalesce((SELECT sum(used.cost_nano) FROM (${scopes
    .map(
      (
        scope,
      ) => `SELECT u.cost_nano FROM usage_hour u WHERE w.kind = '${scope}' AND u.${scope}_id = w.owner_id
        AND u.hour >= ${from} AND u.hour < ${to}`,
    )
    .join(' UNION ALL ')}) AS used), 0)`;

/** Each query returns a row for each thing that it checked. */
export const moneyChecks: readonly { name: string; sql: string; sealed: boolean }[] = [
  {
    name: 'spent is the sum of the records',
    sealed: true,
    // A sealed window is its seal and the later records, less the hours that a rolling window has lost since.
    sql: `
      WITH fresh AS MATERIALIZED (${recordedSince(sinceSeal)}),
      checked AS (
        SELECT w.*, seal.spent AS sealed, coalesce(seal.starts_at, w.starts_at) AS sealed_from
          FROM spending_window w
          LEFT JOIN money_seal_window seal ON seal.window_id = w.id AND isfinite(${sinceSeal})
         WHERE w.kind <> 'wallet')
      SELECT format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at) AS what,
             (CASE WHEN w.sealed IS NULL THEN ${usedBetween('w.starts_at', 'w.ends_at')}
                   ELSE w.sealed - ${usedBetween('w.sealed_from', 'w.starts_at')}
                        + coalesce((SELECT sum(f.spent) FROM fresh f
                            WHERE f.kind = w.kind AND f.owner_id = w.owner_id
                              AND f.hour >= w.sealed_from AND f.hour < w.ends_at), 0) END)::text AS expected,
             CASE WHEN w.period = 'rolling' AND w.spent <> coalesce(
                    (SELECT sum(b.spent) FROM spending_bucket b WHERE b.window_id = w.id), 0)
                  THEN 'other than its buckets' ELSE w.spent::text END AS found
        FROM checked w`,
  },
  {
    name: 'an hour of usage is the sum of its records',
    sealed: true,
    // An hour may get records long after it is over, so those that got any are read whole. Dropped months are not.
    // What was settled is found first: the bound of kept months alone would visit every block of the index of times.
    sql: `
      WITH kept AS (${keptRecords}),
      settled AS MATERIALIZED (
        SELECT DISTINCT date_trunc('hour', created_at, 'UTC') AS hour FROM request_record
         WHERE settled_at >= ${sinceSeal}),
      touched AS (
        SELECT hour FROM settled, kept WHERE hour >= kept.since
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
      WITH kept AS (${keptRecords}),
      settlement AS (
        SELECT t.id, t.created_at, e.amount FROM ledger_transaction t
          JOIN ledger_entry e ON e.transaction_id = t.id
           AND e.account_id = (SELECT id FROM ledger_account WHERE kind = 'usage')
         WHERE t.kind = 'settlement' AND t.created_at >= ${sinceSeal}),
      whole AS (
        SELECT CASE WHEN kept.since > (SELECT min(hour) FROM usage_hour)
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
