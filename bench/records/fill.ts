import type { Database } from '../../src/platform';

const atOnce = 500_000;
const recordsPerSettlement = 100;
const keys = 200;
const costNano = 1_000;

/** Sixty days of records in even steps, a third of them of one key, with the ledger that belongs to them. */
export async function fill(database: Database, rows: number): Promise<void> {
  await database.query('SET synchronous_commit = off');
  await database.query(
    "SELECT ensure_request_record_partitions((now() - interval '60 days')::date, 4), open_wallets(array_agg(id::bigint)) FROM generate_series(1, $1::integer) AS id",
    [keys],
  );
  for (let from = 0; from < rows; from += atOnce) {
    await fillSome(database, from, Math.min(from + atOnce, rows), rows);
    process.stdout.write(`${Math.min(from + atOnce, rows).toLocaleString('en')} records\n`);
  }
  await database.query(
    `UPDATE spending_window w SET spent = used.spent FROM (
       SELECT wallet_id, sum(cost_nano) AS spent FROM usage_hour GROUP BY wallet_id) AS used
      WHERE w.kind = 'wallet' AND w.owner_id = used.wallet_id`,
  );
  await database.query('VACUUM ANALYZE');
}

async function fillSome(database: Database, from: number, to: number, rows: number): Promise<void> {
  const at = (place: string): string =>
    `now() - interval '60 days' + ${place} * (interval '59 days 23 hours' / ${rows})`;
  const keyOf = (group: string): string =>
    `CASE WHEN ${group} % 3 = 0 THEN 1 ELSE 2 + ${group} % ${keys - 1} END`;
  await database.query(
    `INSERT INTO request_record (request_id, created_at, settled_at, settlement_id, key_id, user_id, wallet_id, surface,
       model, served_model, supplier, input_tokens, output_tokens, usage_source, cost_nano, status, stream, failover,
       latency_ms)
     SELECT gen_random_uuid(), ${at('i')}, ${at('i')}, 1000000 + g, k, k, k, 'chat',
            CASE WHEN g % 3 = 0 AND i % (${rows} / 20) < 1 THEN 'seldom' WHEN i % 4 = 0 THEN 'other' ELSE 'usual' END,
            CASE WHEN i % 4 = 0 THEN 'other' ELSE 'usual-2026' END, 'supplier', 900, 300, 'reported', ${costNano}, 200,
            false, false, 700
       FROM (SELECT i, i / ${recordsPerSettlement} AS g, ${keyOf(`(i / ${recordsPerSettlement})`)} AS k
               FROM generate_series($1::bigint, $2::bigint - 1) AS i) AS row`,
    [from, to],
  );
  await database.query(
    `WITH settled AS (
       SELECT 1000000 + g AS id, ${keyOf('g')} AS k, ${at(`(g * ${recordsPerSettlement})`)} AS at
         FROM generate_series($1::bigint / ${recordsPerSettlement}, ($2::bigint - 1) / ${recordsPerSettlement}) AS g),
     made AS (
       INSERT INTO ledger_transaction (id, kind, ref, created_at)
       SELECT id, 'settlement', id::text, at FROM settled RETURNING id)
     INSERT INTO ledger_entry (transaction_id, account_id, amount)
     SELECT s.id, a.id, CASE a.kind WHEN 'wallet' THEN -1 ELSE 1 END * ${costNano * recordsPerSettlement}
       FROM settled s JOIN made ON made.id = s.id
       JOIN ledger_account a ON a.kind = 'usage' OR (a.kind = 'wallet' AND a.owner_id = s.k)`,
    [from, to],
  );
}
