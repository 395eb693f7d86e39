import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../../test/system/seeded-random';
import type { ProofGateway } from '../../test/system/gateway';
import type { InstallationDatabase } from '../../test/system/installation-database';

const SEAL_DEADLINE_MS = 60_000;

/** Realistic entries of the platform and of organisations, in all alphabets, with and without changes. */
const INSERT_ENTRIES = `
  INSERT INTO activity (occurred_at, action, actor_kind, actor_user_id, actor_role, actor_label, organisation_id,
    object_type, object_id, object_label, changes, reason, address, request_id)
  SELECT now() - make_interval(days => $3, secs => $1 - number), 'model.changed', 'user', number, 'org_admin',
         'Žofie "the ' || number || '" 李\\' || chr(10) || '🙂', NULLIF(number % $2, 0),
         'model', number::text, 'model ' || number,
         CASE WHEN number % 3 = 0 THEN NULL ELSE jsonb_build_object('price', jsonb_build_array(number / 7.0, null),
           'note', jsonb_build_array('früher', repeat('x', number % 40))) END,
         CASE WHEN number % 5 = 0 THEN 'asked in letter ' || number END,
         '10.0.0.1', gen_random_uuid()
    FROM generate_series(1, $1) AS number`;

/** Writes this many entries to this many chains; the service seals them in blocks of varying size. */
export async function writeHistory(
  rows: InstallationDatabase,
  wish: {
    readonly entries: number;
    readonly chains: number;
    readonly maxBatch: number;
    readonly daysAgo?: number;
  },
  chance: SeededRandom,
): Promise<void> {
  for (let remaining = wish.entries; remaining > 0;) {
    const batchSize = Math.min(remaining, chance.integer(1, wish.maxBatch));
    await rows.query(INSERT_ENTRIES, [batchSize, wish.chains, wish.daysAgo ?? 0]);
    await waitUntilSealed(rows);
    remaining -= batchSize;
  }
}

async function waitUntilSealed(rows: InstallationDatabase): Promise<void> {
  for (const deadline = Date.now() + SEAL_DEADLINE_MS; Date.now() < deadline;) {
    if ((await rows.query('SELECT FROM activity_unsealed LIMIT 1')).length === 0) return;
    await delay(20);
  }
  throw new Error('the service does not seal its log');
}

/** Runs the product's own export command for all chains, or for one by its number. */
export async function exportChain({ node, folder }: ProofGateway, number?: number): Promise<string> {
  const file = join(folder, `${randomUUID()}.jsonl`);
  const chainOptions =
    number === undefined ? [] : number === 0 ? ['--platform'] : ['--organisation', String(number)];
  const { code, text } = await node.command('audit:export', file, ...chainOptions);
  if (code !== 0) throw new Error(`nothing was exported: ${text}`);
  return readFileSync(file, 'utf8');
}
