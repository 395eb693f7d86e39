import type { Database } from '#product/platform';

const BATCH_SIZE = 20_000;
const SPAN = "interval '20 days'";

/**
 * Copies an existing record this many times over the last weeks, in the columns of whichever version created the table.
 * The copies cost nothing, so that the ledger needs no entries for them.
 */
export async function fillRecords(database: Database, count: number): Promise<void> {
  await database.query(`SELECT ensure_request_record_partitions((now() - ${SPAN})::date, 3)`);
  const columns = await database.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
      WHERE attrelid = 'request_record'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
  );
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => variedColumns[name] ?? `one.${name}`);
  for (let from = 0; from < count; from += BATCH_SIZE)
    await database.query(
      `INSERT INTO request_record (${names.join(', ')})
       SELECT ${values.join(', ')}
         FROM (SELECT * FROM request_record WHERE status = 200 LIMIT 1) AS one,
              generate_series($1::bigint, $2::bigint) AS i,
              LATERAL (SELECT now() - ${SPAN} * (1 - i / $3::numeric)::float8) AS moment (at)`,
      [from, Math.min(from + BATCH_SIZE, count) - 1, count],
    );
  await database.query('ANALYZE request_record');
}

const variedColumns: Readonly<Record<string, string>> = {
  request_id: 'uuidv7(at - clock_timestamp())',
  created_at: 'at',
  settled_at: 'at',
  cost_nano: '0',
  latency_ms: '300 + i % 977',
  model: "CASE WHEN i % 7 = 0 THEN 'seldom' ELSE one.model END",
};
