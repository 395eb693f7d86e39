import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { RestoreFixture } from './restore-fixture';

const ROWS_PER_INSERT = 20_000;
const MEGABYTE_BYTES = 1_000_000;

/** Adds records of recent weeks until the database has this size; each has a kilobyte of incompressible data. */
export async function fill(fixture: RestoreFixture, megabytes: number): Promise<void> {
  await fixture.query(async (client) => {
    await client.query("SELECT ensure_request_record_partitions((now() - interval '30 days')::date, 3)");
    for (
      let insertedRows = 0;
      (await sizeOf(client)) < megabytes * MEGABYTE_BYTES;
      insertedRows += ROWS_PER_INSERT
    )
      await client.query(
        `INSERT INTO request_record
                (request_id, created_at, surface, usage_source, cost_nano, status, stream, failover, latency_ms, attempts)
         SELECT gen_random_uuid(), now() - random() * interval '30 days', 'chat', 'provider', 0, 200, false, false, 900,
                (SELECT jsonb_build_array(string_agg(md5(row || ' ' || piece), '')) FROM generate_series(1, 32) AS piece)
           FROM generate_series($1::int, $2::int) AS row`,
        [insertedRows, insertedRows + ROWS_PER_INSERT - 1],
      );
    // Otherwise vacuuming would fall into the measured time.
    await client.query('VACUUM (FREEZE, ANALYZE) request_record');
    await client.query('CHECKPOINT');
  });
  while ((await fixture.gauge('gateway_backup_segments_waiting')) > 0) await delay(1_000);
}

async function sizeOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    'SELECT pg_database_size(current_database())::text AS bytes',
  );
  return Number(rows[0]?.bytes);
}
