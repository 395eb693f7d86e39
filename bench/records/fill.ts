import type { DataSource } from 'typeorm';
import { UsageDays } from '#product/audit';
import { latencyColumns, latencyConditions } from '#inside/audit/usage/latency-steps';
import type { Database } from '../../src/platform';

const RECORDS_PER_SETTLEMENT = 100;
const keys = 200;
const COST_NANO = 1_000;
const BUDGET_COUNT = 24;

interface Partition {
  readonly name: string;
  readonly bounds: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Fills sixty days with evenly spaced records, a third of them of one key, and their ledger entries. Partitions are
 * filled detached, two at a time, and indexed afterwards, as a restored backup would be.
 */
export async function fill(source: DataSource, database: Database, rows: number): Promise<void> {
  await database.query(
    "SELECT ensure_request_record_partitions((now() - interval '60 days')::date, 4), open_wallets(array_agg(id::bigint)) FROM generate_series(1, $1::integer) AS id",
    [keys],
  );
  await database.query('CREATE TABLE bench_span AS SELECT now() - interval $$60 days$$ AS began');
  const parents = await indexesOfTable(database);
  const pendingPartitions = await partitions(database);
  const worker = async (): Promise<void> => {
    for (let next = pendingPartitions.shift(); next !== undefined; next = pendingPartitions.shift())
      await fillPartition(source, next, rows, parents);
  };
  await logDuration('records and their indexes', () => Promise.all([worker(), worker()]));
  await logDuration('hours of usage', () => fillHours(database));
  await logDuration('days of usage', () => new UsageDays(database).merge());
  await logDuration('ledger', () => fillLedger(database, rows));
  await logDuration('windows', () => openWindows(database));
  await logDuration('statistics', () => database.query('VACUUM ANALYZE'));
}

async function logDuration(what: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  process.stdout.write(
    `        filled: ${what}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`,
  );
}

const partitions = (database: Database): Promise<Partition[]> =>
  database.query<Partition>(
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds,
            to_date(right(c.relname, 6), 'YYYYMM')::text AS from,
            (to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month')::date::text AS to
       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '[0-9]{6}$'
        AND to_date(right(c.relname, 6), 'YYYYMM') <= now() ORDER BY c.relname`,
  );

/** Index definitions of the table; an attached partition must have matching ones. */
async function indexesOfTable(database: Database): Promise<string[]> {
  const indexes = await database.query<{ definition: string }>(
    "SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = 'request_record'::regclass",
  );
  return indexes.map(({ definition }) => definition);
}

async function fillPartition(
  source: DataSource,
  { name, bounds, from, to }: Partition,
  rows: number,
  indexes: readonly string[],
): Promise<void> {
  const runner = source.createQueryRunner();
  try {
    await runner.query(
      "SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET timezone = 'UTC'",
    );
    await runner.query(`ALTER TABLE request_record DETACH PARTITION ${name}`);
    await runner.query(`DROP TABLE ${name}`);
    await runner.query(`CREATE TABLE ${name} (LIKE request_record INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`);
    await runner.query(recordsBetween(name, from, to, rows));
    for (const definition of indexes) {
      const usingPosition = definition.indexOf(' USING ');
      const unique = definition.startsWith('CREATE UNIQUE') ? 'UNIQUE ' : '';
      await runner.query(`CREATE ${unique}INDEX ON ${name}${definition.slice(usingPosition)}`);
    }
    await runner.query(`ALTER TABLE request_record ATTACH PARTITION ${name} ${bounds}`);
  } finally {
    await runner.release();
  }
}

const step = (rows: number): string => `(interval '59 days 23 hours' / ${rows})`;
const keyOf = (group: string): string =>
  `CASE WHEN ${group} % 3 = 0 THEN 1 ELSE 2 + ${group} % ${keys - 1} END`;

/**
 * Records of one month with time-ordered ids: one in a hundred failed, one in seventy failed over. One in five has an
 * end user, one in ten has tags, and a few are slow.
 */
const recordsBetween = (table: string, from: string, to: string, rows: number): string => `
  INSERT INTO ${table} (request_id, created_at, settled_at, settlement_id, key_id, user_id, organisation_id, project_id,
    wallet_id, surface, model, served_model, supplier, region, input_tokens, output_tokens, usage_source, cost_nano,
    status, code, stream, failover, latency_ms, first_token_ms, session_key, end_user, tags)
  SELECT uuidv7(at - clock_timestamp()), at, at, 1000000 + g, k, k, 1 + k % 20, 1 + k % 10, k, 'chat',
         CASE WHEN g % 3 = 0 AND i % (${rows} / 20) < 1 THEN 'seldom' WHEN i % 4 = 0 THEN 'other' ELSE 'usual' END,
         CASE WHEN i % 4 = 0 THEN 'other' ELSE 'usual-2026' END, CASE WHEN g % 4 = 0 THEN 'second' ELSE 'supplier' END,
         CASE WHEN g % 5 = 0 THEN 'us-east' ELSE 'eu-central' END, 900, 300, 'reported', ${COST_NANO},
         CASE WHEN i % 100 = 7 THEN 502 ELSE 200 END,
         CASE WHEN i % 250000 = 7 THEN 'seldom_error' WHEN i % 100 = 7 THEN 'upstream_error' END,
         false, i % 70 = 3, CASE WHEN i % 200000 = 9 THEN 60000 ELSE 300 + i % 977 END, 120, 'session-' || g,
         CASE WHEN i % 5 = 0 THEN 'end-user-' || g % 4000 END,
         CASE WHEN g % 10 = 0 THEN jsonb_build_array('tag-' || g % 37, CASE WHEN i % 100000 = 0 THEN 'seldom' ELSE 'all' END) END
    FROM (SELECT i, i / ${RECORDS_PER_SETTLEMENT} AS g, ${keyOf(`(i / ${RECORDS_PER_SETTLEMENT})`)} AS k,
                 began + i * ${step(rows)} AS at
            FROM bench_span, generate_series(
              greatest(0, ceil(extract(epoch FROM '${from}'::timestamptz - began) / extract(epoch FROM ${step(rows)})))::bigint,
              least(${rows}, ceil(extract(epoch FROM '${to}'::timestamptz - began) / extract(epoch FROM ${step(rows)})))::bigint - 1
            ) AS i) AS row`;

const identity =
  'key_id, user_id, organisation_id, department_id, project_id, wallet_id, model, served_model, supplier, region';
const sums = `requests, failures, failovers, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
  reasoning_tokens, audio_tokens, image_tokens, image_output_tokens, latency_ms, first_token_ms, first_tokens, cost_nano,
  highest_cost_nano, highest_latency_ms, ${latencyColumns.join(', ')}`;
const aggregates = `count(*), count(code), count(*) FILTER (WHERE failover), sum(input_tokens), 0, 0, sum(output_tokens),
  0, 0, 0, 0, sum(latency_ms), sum(first_token_ms), count(first_token_ms), sum(cost_nano), max(cost_nano),
  max(latency_ms), ${latencyConditions.map((condition) => `count(*) FILTER (WHERE ${condition('latency_ms')})`).join(', ')}`;

/** Sums that the trigger would have added record by record. */
/** Inserts in order of time, as settlements do. */
async function fillHours(database: Database): Promise<void> {
  await database.query(
    `INSERT INTO usage_hour (hour, ${identity}, ${sums})
     SELECT date_trunc('hour', created_at, 'UTC'), ${identity}, ${aggregates}
       FROM request_record GROUP BY date_trunc('hour', created_at, 'UTC'), ${identity} ORDER BY 1`,
  );
  await database.query(
    `INSERT INTO usage_label_hour (hour, kind, label, ${identity}, ${sums}, first_at, last_at)
     SELECT date_trunc('hour', created_at, 'UTC'), kind, label, ${identity}, ${aggregates}, min(created_at), max(created_at)
       FROM request_record, record_labels(end_user, tags) WHERE end_user IS NOT NULL OR tags IS NOT NULL
      GROUP BY date_trunc('hour', created_at, 'UTC'), kind, label, ${identity} ORDER BY 1`,
  );
}

async function fillLedger(database: Database, rows: number): Promise<void> {
  // The sums are correct by construction; checking each at commit would take minutes.
  await database.query('ALTER TABLE ledger_transaction DISABLE TRIGGER ledger_transaction_balances');
  await database.query('ALTER TABLE ledger_entry DISABLE TRIGGER ledger_entry_balances');
  await database.query(
    `WITH settled AS (
       SELECT 1000000 + g AS id, ${keyOf('g')} AS k, began + g * ${RECORDS_PER_SETTLEMENT} * ${step(rows)} AS at
         FROM bench_span, generate_series(0::bigint, (${rows}::bigint - 1) / ${RECORDS_PER_SETTLEMENT}) AS g),
     made AS (
       INSERT INTO ledger_transaction (id, kind, ref, created_at)
       SELECT id, 'settlement', id::text, at FROM settled RETURNING id)
     INSERT INTO ledger_entry (transaction_id, account_id, amount)
     SELECT s.id, a.id, CASE a.kind WHEN 'wallet' THEN -1 ELSE 1 END
            * ${COST_NANO} * least(${RECORDS_PER_SETTLEMENT}, ${rows} - (s.id - 1000000) * ${RECORDS_PER_SETTLEMENT})
       FROM settled s JOIN made ON made.id = s.id
       JOIN ledger_account a ON a.kind = 'usage' OR (a.kind = 'wallet' AND a.owner_id = s.k)`,
  );
  await database.query('ALTER TABLE ledger_transaction ENABLE TRIGGER ledger_transaction_balances');
  await database.query('ALTER TABLE ledger_entry ENABLE TRIGGER ledger_entry_balances');
}

/** Opens wallets and budgets: half by calendar, half rolling. The first key has none yet. */
async function openWindows(database: Database): Promise<void> {
  await database.query(
    `UPDATE spending_window w SET spent = used.spent FROM (
       SELECT wallet_id, sum(cost_nano) AS spent FROM usage_hour GROUP BY wallet_id) AS used
      WHERE w.kind = 'wallet' AND w.owner_id = used.wallet_id`,
  );
  await database.query(
    `SELECT set_spending_limit(kind, 1 + id, CASE WHEN id % 2 = 0 THEN 'monthly' ELSE 'rolling' END, 1000000000000000)
       FROM generate_series(1, ${BUDGET_COUNT}::bigint) AS id, unnest(ARRAY['key', 'user']) AS kind`,
  );
  await database.query(
    `SELECT open_spending_windows(array_agg(kind), array_agg(owner_id), now()) FROM spending_rule WHERE kind <> 'wallet'`,
  );
}
