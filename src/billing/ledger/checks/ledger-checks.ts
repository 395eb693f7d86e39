import { keptRecords, maxTransactionDuration, type MoneyCheckQuery, sinceSeal } from './money-check';

export const accountSums = (condition: string): string => `
  SELECT e.account_id, sum(e.amount) AS balance,
         coalesce(-sum(e.amount) FILTER (WHERE t.kind = 'settlement'), 0) AS spent
    FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
   WHERE ${condition} GROUP BY e.account_id`;

export const ledgerChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'a wallet is the sum of its entries',
    reads: 'since',
    sql: `
      WITH entry AS (${accountSums(`t.created_at >= ${sinceSeal}`)}),
      sealed AS (SELECT * FROM money_seal_account WHERE isfinite(${sinceSeal})),
      held AS (
        SELECT w.*, w.limit_nano - coalesce(r.limit_nano, 0) - w.spent AS balance
          FROM spending_window w LEFT JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = w.owner_id
         WHERE w.kind = 'wallet'),
      account AS (SELECT * FROM ledger_account WHERE kind = 'wallet')
      SELECT format('wallet %s', coalesce(w.owner_id, a.owner_id)) AS what,
             format('balance %s, spent %s', coalesce(sealed.balance, 0) + coalesce(entry.balance, 0),
                    coalesce(sealed.spent, 0) + coalesce(entry.spent, 0)) AS expected,
             CASE WHEN w.id IS NULL THEN 'no such wallet'
                  ELSE format('balance %s, spent %s', w.balance, w.spent) END AS found
        FROM held w FULL JOIN account a ON a.owner_id = w.owner_id
        LEFT JOIN entry ON entry.account_id = a.id
        LEFT JOIN sealed ON sealed.account_id = a.id`,
  },
  {
    name: 'every transaction is zero',
    reads: 'since',
    sql: `
      SELECT format('%s %s', t.kind, t.ref) AS what, '0 in two entries or more' AS expected,
             CASE WHEN coalesce(sum(e.amount), 0) = 0 AND count(e.*) >= 2 THEN '0 in two entries or more'
                  ELSE format('%s in %s', coalesce(sum(e.amount), 0), count(e.*)) END AS found
        FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id
       WHERE t.created_at >= ${sinceSeal} GROUP BY t.id, t.kind, t.ref`,
  },
  {
    name: 'a settlement charges each wallet what its records cost',
    reads: 'since',
    // After partitions were dropped, a settlement of the first days might have lost some of its records.
    sql: `
      WITH kept AS (${keptRecords}),
      settlement AS (
        SELECT t.id, t.created_at, a.owner_id AS wallet_id, -e.amount AS amount FROM ledger_transaction t
          JOIN ledger_entry e ON e.transaction_id = t.id
          JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
         WHERE t.kind = 'settlement' AND t.created_at >= ${sinceSeal}),
      whole AS (
        SELECT CASE WHEN kept.since > (SELECT min(hour) FROM usage_hour)
                    THEN kept.since + interval '3 days' ELSE '-infinity' END AS since FROM kept),
      recorded AS (
        SELECT settlement_id, wallet_id, sum(cost_nano) AS spent, min(settled_at) AS settled_at FROM request_record
         WHERE settlement_id IS NOT NULL AND settled_at >= ${sinceSeal} - ${maxTransactionDuration}
         GROUP BY settlement_id, wallet_id)
      SELECT format('settlement %s of wallet %s', coalesce(s.id, r.settlement_id),
                    coalesce(s.wallet_id, r.wallet_id)) AS what,
             coalesce(r.spent, 0)::text AS expected, coalesce(s.amount, 0)::text AS found
        FROM settlement s FULL JOIN recorded r ON r.settlement_id = s.id AND r.wallet_id = s.wallet_id, whole
       WHERE (s.id IS NULL AND r.settled_at >= ${sinceSeal}) OR s.created_at >= whole.since`,
  },
  {
    name: 'what a wallet has to pay is settled',
    reads: 'full',
    sql: `
      SELECT format('request %s', request_id) AS what, 'a settlement' AS expected, 'none' AS found
        FROM request_record WHERE settlement_id IS NULL AND wallet_id IS NOT NULL AND cost_nano > 0`,
  },
  {
    name: 'a settlement is of the time of its records',
    reads: 'full',
    sql: `
      SELECT format('settlement %s', t.id) AS what, format('%s to %s', r.since, r.until) AS expected,
             t.created_at::text AS found
        FROM (SELECT settlement_id, min(settled_at) AS since, max(settled_at) AS until
                FROM request_record WHERE settlement_id IS NOT NULL GROUP BY settlement_id) AS r
        JOIN ledger_transaction t ON t.id = r.settlement_id
       WHERE t.created_at NOT BETWEEN r.since - ${maxTransactionDuration} AND r.until + ${maxTransactionDuration}`,
  },
  {
    name: 'an entry has a transaction and an account',
    reads: 'full',
    sql: `
      SELECT format('entry of %s in transaction %s on account %s', e.amount, e.transaction_id, e.account_id) AS what,
             'both' AS expected,
             concat_ws(', ', CASE WHEN t.id IS NULL THEN 'no such transaction' END,
                             CASE WHEN a.id IS NULL THEN 'no such account' END) AS found
        FROM ledger_entry e LEFT JOIN ledger_transaction t ON t.id = e.transaction_id
        LEFT JOIN ledger_account a ON a.id = e.account_id
       WHERE t.id IS NULL OR a.id IS NULL`,
  },
  {
    name: 'an entry is marked as what its transaction is',
    reads: 'full',
    sql: `
      SELECT format('%s %s', t.kind, t.ref) AS what,
             CASE WHEN t.kind = 'settlement' THEN 'a settlement' ELSE 'a posting' END AS expected,
             CASE WHEN e.is_posting THEN 'a posting' ELSE 'a settlement' END AS found
        FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
       WHERE e.is_posting <> (t.kind <> 'settlement')`,
  },
  {
    name: 'the seal is of the past',
    reads: 'full',
    sql: `SELECT 'seal' AS what, 'before ' || now() AS expected, sealed_to::text AS found
            FROM money_seal WHERE sealed_to > now()`,
  },
];
