import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Finding } from '../../src/audit';
import type { Chance } from '../../test/system/chance';
import type { Findings } from '../../test/system/findings';
import type { ProofGateway } from '../../test/system/gateway';

const ROUNDS = 10;
const ENTRIES = 20;
const FOUND_DEADLINE_MS = 60_000;
/** Entries that stand in their block as they were written are waited for in vain. */
const BREAKS_DEADLINE_MS = 20_000;
const QUIET_MS = 3_000;

interface Break {
  readonly kind: string;
  readonly entry: string;
}

interface Tally {
  removed: number;
  changed: number;
  located: number;
  others: number;
  /** The writer found nothing: a seal had read them before, and they stand in their block as they were written. */
  readonly sealed: Set<string>;
}

/**
 * The owner of the database locks the table of blocks, so that nothing is sealed, and meanwhile removes or changes
 * entries. Each is found, by its number, and nothing else; and the wait itself is told.
 * `verify` reads an export: it finds those that a seal had read before the lock held it up.
 */
export async function attackBeforeTheSeal(
  gateway: ProofGateway,
  chance: Chance,
  findings: Findings,
  verify: () => Promise<readonly Finding[]>,
): Promise<void> {
  const owner = new Client({ connectionString: gateway.ownerUrl });
  await owner.connect();
  try {
    const tally: Tally = { removed: 0, changed: 0, located: 0, others: 0, sealed: new Set() };
    for (let round = 0; round < ROUNDS; round += 1) await oneRound(gateway, owner, chance, tally);
    const verified = (await verify()).map(({ kind, entry }) => `${kind} ${entry}`);
    tally.located += verified.filter((each) => tally.sealed.has(each)).length;
    tally.others += verified.filter((each) => !tally.sealed.has(each)).length;
    const { removed, changed, located, others, sealed: inBlocks } = tally;
    findings.add(
      'entries removed or changed before their seal, while the blocks are locked',
      removed > 0 && changed > 0 && located === removed + changed && others === 0,
      `${removed} removed, ${changed} changed: ${located} located, ${inBlocks.size} of them in their blocks, ${others} false alarms`,
    );
    await lockAlone(gateway, owner, findings);
  } finally {
    await owner.end();
  }
}

async function oneRound(gateway: ProofGateway, owner: Client, chance: Chance, tally: Tally): Promise<void> {
  await sealed(gateway);
  await owner.query('BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
  const before = await newest(owner);
  await makeEntries(gateway, ENTRIES);
  const made = await owner.query<{ id: string }>('SELECT id::text FROM activity WHERE id > $1 ORDER BY id', [
    before,
  ]);
  const ids = made.rows.map(({ id }) => id);
  const removed = ids.filter(() => chance.whole(1, 5) === 1);
  const changed = ids.filter((id) => !removed.includes(id) && chance.whole(1, 5) === 1);
  await owner.query('ALTER TABLE activity DISABLE TRIGGER activity_is_final');
  await owner.query('DELETE FROM activity_unsealed WHERE entry_id = ANY ($1::bigint[])', [removed]);
  await owner.query('DELETE FROM activity WHERE id = ANY ($1::bigint[])', [removed]);
  await owner.query(`UPDATE activity SET object_label = 'another' WHERE id = ANY ($1::bigint[])`, [changed]);
  await owner.query('ALTER TABLE activity ENABLE TRIGGER activity_is_final');
  await owner.query('COMMIT');
  const wanted = new Set([...removed.map((id) => `missing ${id}`), ...changed.map((id) => `edited ${id}`)]);
  const found = await breaksOf(gateway, wanted.size);
  for (const each of wanted) if (!found.includes(each)) tally.sealed.add(each);
  tally.removed += removed.length;
  tally.changed += changed.length;
  tally.located += found.filter((each) => wanted.has(each)).length;
  tally.others += found.filter((each) => !wanted.has(each)).length;
}

/** The entry of a new key is written by the service, as every change is. */
async function makeEntries({ node }: ProofGateway, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const { status } = await fetch(`${node.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.keys.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `entry ${made}` }),
    });
    if (status !== 200) throw new Error(`no key was made: ${status}`);
  }
}

async function newest(owner: Client): Promise<string> {
  const { rows } = await owner.query<{ id: string }>('SELECT coalesce(max(id), 0)::text AS id FROM activity');
  return rows[0]?.id ?? '0';
}

async function sealed({ rows }: ProofGateway): Promise<void> {
  for (const deadline = Date.now() + FOUND_DEADLINE_MS; Date.now() < deadline;) {
    if ((await rows.query('SELECT FROM activity_unsealed LIMIT 1')).length === 0) return;
    await delay(20);
  }
  throw new Error('the service does not seal its log');
}

/** The breaks of this round, and what may still come when all that was wanted is there. */
async function breaksOf({ rows }: ProofGateway, wanted: number): Promise<string[]> {
  const read = (): Promise<Break[]> =>
    rows.query<Break>('SELECT kind, entry::text FROM audit_break WHERE examined_at IS NULL ORDER BY id');
  const deadline = Date.now() + BREAKS_DEADLINE_MS;
  while (Date.now() < deadline && (await read()).length < wanted) await delay(50);
  await delay(QUIET_MS);
  const found = await read();
  await rows.query('UPDATE audit_break SET examined_at = now() WHERE examined_at IS NULL');
  return found.map(({ kind, entry }) => `${kind} ${entry}`);
}

/** Nothing is removed: that entries wait is told by doctor and as an incident while the lock is held. */
async function lockAlone(gateway: ProofGateway, owner: Client, findings: Findings): Promise<void> {
  const { node, rows } = gateway;
  await sealed(gateway);
  await owner.query('BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
  try {
    await makeEntries(gateway, 1);
    // Two minutes that need not be waited for.
    await rows.query(`UPDATE activity_unsealed SET since = since - interval '2 minutes'`);
    const incident = async (): Promise<boolean> =>
      (await rows.query(`SELECT FROM incident WHERE kind = 'seal' AND ended_at IS NULL`)).length > 0;
    const deadline = Date.now() + FOUND_DEADLINE_MS;
    while (Date.now() < deadline && !(await incident())) await delay(50);
    const isTold = await incident();
    const { text } = await node.command('doctor');
    const [line = 'nothing'] = /^.*audit seal.*$/m.exec(text) ?? [];
    findings.add('a lock that stops the sealing is an incident', isTold, isTold ? 'under way' : 'none');
    findings.add('and fails the check of doctor', line.startsWith('fail'), line.trim());
  } finally {
    await owner.query('COMMIT');
  }
  await sealed(gateway);
}
