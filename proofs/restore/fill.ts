import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { House } from './house';

const ROWS_AT_ONCE = 20_000;
const MEGABYTE = 1_000_000;

/** Records of the last weeks, until the database is so large. Each has a kilobyte that hardly shrinks. */
export async function fill(house: House, megabytes: number): Promise<void> {
  await house.ask(async (client) => {
    await client.query("SELECT ensure_request_record_partitions((now() - interval '30 days')::date, 3)");
    for (let done = 0; (await sizeOf(client)) < megabytes * MEGABYTE; done += ROWS_AT_ONCE)
      await client.query(
        `INSERT INTO request_record
                (request_id, created_at, surface, usage_source, cost_nano, status, stream, failover, latency_ms, attempts)
         SELECT gen_random_uuid(), now() - random() * interval '30 days', 'chat', 'provider', 0, 200, false, false, 900,
                (SELECT jsonb_build_array(string_agg(md5(row || ' ' || piece), '')) FROM generate_series(1, 32) AS piece)
           FROM generate_series($1::int, $2::int) AS row`,
        [done, done + ROWS_AT_ONCE - 1],
      );
    // Else this work falls into the time that is measured.
    await client.query('VACUUM (FREEZE, ANALYZE) request_record');
    await client.query('CHECKPOINT');
  });
  while ((await house.gauge('gateway_backup_segments_waiting')) > 0) await delay(1_000);
}

async function sizeOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    'SELECT pg_database_size(current_database())::text AS bytes',
  );
  return Number(rows[0]?.bytes);
}
