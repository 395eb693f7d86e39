import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Finding } from '../../src/audit';
import type { SeededRandom } from '../../test/system/seeded-random';
import type { Findings } from '../../test/system/findings';
import type { ProofGateway } from '../../test/system/gateway';

const ROUNDS = 10;
const ENTRIES = 20;
const DETECTION_DEADLINE_MS = 60_000;
/** Entries that appear unchanged in their block are never reported as broken. */
const BREAKS_DEADLINE_MS = 20_000;
const SETTLE_MS = 3_000;

interface AuditBreak {
  readonly kind: string;
  readonly entry: string;
}

interface TamperTally {
  removed: number;
  changed: number;
  located: number;
  others: number;
  /**
   * Entries that the writer did not report because a seal had read them before and their block contains them unchanged.
   */
  readonly sealed: Set<string>;
}

/**
 * Locks the table of blocks as the database owner, so that nothing is sealed, and meanwhile removes or changes entries.
 * Each one is reported by its number, and no other entry; the delayed sealing is reported too.
 */
export async function tamperBeforeSealing(
  gateway: ProofGateway,
  chance: SeededRandom,
  findings: Findings,
  verify: () => Promise<readonly Finding[]>,
): Promise<void> {
  const owner = new Client({ connectionString: gateway.ownerUrl });
  await owner.connect();
  try {
    const tally: TamperTally = { removed: 0, changed: 0, located: 0, others: 0, sealed: new Set() };
    for (let round = 0; round < ROUNDS; round += 1) await tamperOnce(gateway, owner, chance, tally);
    const verifiedBreaks = (await verify()).map(({ kind, entry }) => `${kind} ${entry}`);
    tally.located += verifiedBreaks.filter((each) => tally.sealed.has(each)).length;
    tally.others += verifiedBreaks.filter((each) => !tally.sealed.has(each)).length;
    const { removed, changed, located, others, sealed: inBlocks } = tally;
    findings.add(
      'entries removed or changed before their seal, while the blocks are locked',
      removed > 0 && changed > 0 && located === removed + changed && others === 0,
      `${removed} removed, ${changed} changed: ${located} located, ${inBlocks.size} of them in their blocks, ${others} false alarms`,
    );
    await proveLockReported(gateway, owner, findings);
  } finally {
    await owner.end();
  }
}

async function tamperOnce(
  gateway: ProofGateway,
  owner: Client,
  chance: SeededRandom,
  tally: TamperTally,
): Promise<void> {
  await waitUntilSealed(gateway);
  await owner.query('BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
  const before = await newestEntryId(owner);
  await makeEntries(gateway, ENTRIES);
  const insertedEntries = await owner.query<{ id: string }>(
    'SELECT id::text FROM activity WHERE id > $1 ORDER BY id',
    [before],
  );
  const ids = insertedEntries.rows.map(({ id }) => id);
  const removedIds = ids.filter(() => chance.integer(1, 5) === 1);
  const changedIds = ids.filter((id) => !removedIds.includes(id) && chance.integer(1, 5) === 1);
  await owner.query('ALTER TABLE activity DISABLE TRIGGER activity_is_final');
  await owner.query('DELETE FROM activity_unsealed WHERE entry_id = ANY ($1::bigint[])', [removedIds]);
  await owner.query('DELETE FROM activity WHERE id = ANY ($1::bigint[])', [removedIds]);
  await owner.query(`UPDATE activity SET object_label = 'another' WHERE id = ANY ($1::bigint[])`, [
    changedIds,
  ]);
  await owner.query('ALTER TABLE activity ENABLE TRIGGER activity_is_final');
  await owner.query('COMMIT');
  const expectedBreaks = new Set([
    ...removedIds.map((id) => `missing ${id}`),
    ...changedIds.map((id) => `edited ${id}`),
  ]);
  const breaks = await waitForBreaks(gateway, expectedBreaks.size);
  for (const expectedBreak of expectedBreaks)
    if (!breaks.includes(expectedBreak)) tally.sealed.add(expectedBreak);
  tally.removed += removedIds.length;
  tally.changed += changedIds.length;
  tally.located += breaks.filter((each) => expectedBreaks.has(each)).length;
  tally.others += breaks.filter((each) => !expectedBreaks.has(each)).length;
}

/** The service writes the audit entry of a new key, as of every change. */
async function makeEntries({ node }: ProofGateway, count: number): Promise<void> {
  for (let entryCount = 0; entryCount < count; entryCount += 1) {
    const { status } = await fetch(`${node.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.keys.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `entry ${entryCount}` }),
    });
    if (status !== 200) throw new Error(`no key was made: ${status}`);
  }
}

async function newestEntryId(owner: Client): Promise<string> {
  const { rows } = await owner.query<{ id: string }>('SELECT coalesce(max(id), 0)::text AS id FROM activity');
  return rows[0]?.id ?? '0';
}

async function waitUntilSealed({ rows }: ProofGateway): Promise<void> {
  for (const deadline = Date.now() + DETECTION_DEADLINE_MS; Date.now() < deadline;) {
    if ((await rows.query('SELECT FROM activity_unsealed LIMIT 1')).length === 0) return;
    await delay(20);
  }
  throw new Error('the service does not seal its log');
}

/** Waits for the breaks of this round, and for later ones once all expected ones are there. */
async function waitForBreaks({ rows }: ProofGateway, expectedCount: number): Promise<string[]> {
  const readBreaks = (): Promise<AuditBreak[]> =>
    rows.query<AuditBreak>('SELECT kind, entry::text FROM audit_break WHERE examined_at IS NULL ORDER BY id');
  const deadline = Date.now() + BREAKS_DEADLINE_MS;
  while (Date.now() < deadline && (await readBreaks()).length < expectedCount) await delay(50);
  await delay(SETTLE_MS);
  const breaks = await readBreaks();
  await rows.query('UPDATE audit_break SET examined_at = now() WHERE examined_at IS NULL');
  return breaks.map(({ kind, entry }) => `${kind} ${entry}`);
}

/** Nothing is removed: while the lock is held, doctor and an incident report the waiting entries. */
async function proveLockReported(gateway: ProofGateway, owner: Client, findings: Findings): Promise<void> {
  const { node, rows } = gateway;
  await waitUntilSealed(gateway);
  await owner.query('BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
  try {
    await makeEntries(gateway, 1);
    // Shifts the start of the wait by two minutes.
    await rows.query(`UPDATE activity_unsealed SET since = since - interval '2 minutes'`);
    const hasIncident = async (): Promise<boolean> =>
      (await rows.query(`SELECT FROM incident WHERE kind = 'seal' AND ended_at IS NULL`)).length > 0;
    const deadline = Date.now() + DETECTION_DEADLINE_MS;
    while (Date.now() < deadline && !(await hasIncident())) await delay(50);
    const isReported = await hasIncident();
    const { text } = await node.command('doctor');
    const [line = 'nothing'] = /^.*audit seal.*$/m.exec(text) ?? [];
    findings.add(
      'a lock that stops the sealing is an incident',
      isReported,
      isReported ? 'under way' : 'none',
    );
    findings.add('and fails the check of doctor', line.startsWith('fail'), line.trim());
  } finally {
    await owner.query('COMMIT');
  }
  await waitUntilSealed(gateway);
}
