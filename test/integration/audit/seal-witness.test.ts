import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { ActivityLog, SealAge, systemActor } from '#product/audit';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { Metrics } from '#product/platform';
import { makeScratchFolder } from '../../support/scratch';
import { sealAll } from '../../support/seal';
import { until } from '../../support/until';

let app: TestApp;
let owner: Client;

beforeAll(async () => {
  app = await startTestApp();
  owner = new Client({ connectionString: String(app.environment['MIGRATION_DATABASE_URL']) });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await app.close();
});

const addEntry = (label: string, fails = false): Promise<void> =>
  app.database.transaction(async (tx) => {
    await app.application.get(ActivityLog, { strict: false }).write(tx, {
      action: 'project.changed',
      object: { type: 'project', id: label, label },
      concerns: { organisationId: 700 },
      actor: systemActor('test'),
      changes: { name: ['Zoë "the\nfirst"', label] },
    });
    if (fails) throw new Error('rolled back');
  });

const listBreaks = (): Promise<unknown[]> =>
  app.database.query(
    `SELECT b.kind, b.chain, b.detail FROM audit_break b WHERE b.examined_at IS NULL ORDER BY b.kind, b.id`,
  );

/** Key of the sealing lock; no sealing starts while this lock is held. */
const SEALING = "hashtextextended('switchboard.activity-seal', 0)";

/** Acts as the owner of the tables: blocks sealing and disables the triggers while `work` runs. */
async function whileLocked(work: () => Promise<void>): Promise<void> {
  await sealAll(app);
  await owner.query(`SELECT pg_advisory_lock(${SEALING})`);
  await owner.query('BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
  try {
    await work();
  } finally {
    await owner.query('COMMIT');
    await owner.query(`SELECT pg_advisory_unlock(${SEALING})`);
  }
}

const removeEntry = (label: string): Promise<unknown> =>
  changeEntry(
    `DELETE FROM activity_unsealed WHERE entry_id = (SELECT id FROM activity WHERE object_id = :label);
     DELETE FROM activity WHERE object_id = :label`,
    label,
  );

const changeEntry = (statement: string, label: string): Promise<unknown> =>
  owner.query(`ALTER TABLE activity DISABLE TRIGGER activity_is_final;
    ${statement.replaceAll(':label', `'${label}'`)};
    ALTER TABLE activity ENABLE TRIGGER activity_is_final`);

const acknowledgeBreaks = async (): Promise<void> => {
  await owner.query(`UPDATE audit_break SET examined_at = now()`);
};

test('an entry removed or changed before it was sealed is detected', async () => {
  await whileLocked(async () => {
    for (const label of ['stays', 'goes', 'changes', 'stays too']) await addEntry(label);
    await removeEntry('goes');
    await changeEntry('UPDATE activity SET actor_label = $$nobody$$ WHERE object_id = :label', 'changes');
  });
  await sealAll(app);
  await until(async () => (await listBreaks()).length >= 2);
  expect(await listBreaks()).toEqual([
    expect.objectContaining({
      kind: 'edited',
      chain: 700,
      detail: expect.stringContaining('changed before'),
    }),
    expect.objectContaining({
      kind: 'missing',
      chain: 700,
      detail: expect.stringContaining('removed before'),
    }),
  ]);
  const logLine = app.log.find((line) => line.includes('changed or removed before they were sealed'));
  expect(JSON.parse(logLine ?? '{}')).toMatchObject({ level: 'error' });
  await acknowledgeBreaks();
});

test('a detected break is recorded later when it cannot be recorded immediately', async () => {
  await whileLocked(async () => {
    await addEntry('goes as well');
    await removeEntry('goes as well');
    await owner.query(`
      CREATE FUNCTION refuse_break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$;
      CREATE TRIGGER refuses_breaks BEFORE INSERT ON audit_break EXECUTE FUNCTION refuse_break()`);
  });
  await until(() => app.log.some((line) => line.includes('no room')));
  await owner.query('DROP TRIGGER refuses_breaks ON audit_break; DROP FUNCTION refuse_break');
  await until(async () => (await listBreaks()).length > 0);
  expect(await listBreaks()).toMatchObject([{ kind: 'missing', chain: 700 }]);
  await acknowledgeBreaks();
});

test('an unsealed entry whose mark alone was removed is detected', async () => {
  await whileLocked(async () => {
    await addEntry('unmarked');
    await changeEntry(
      'DELETE FROM activity_unsealed WHERE entry_id = (SELECT id FROM activity WHERE object_id = :label)',
      'unmarked',
    );
  });
  await sealAll(app);
  await until(async () => (await listBreaks()).length > 0);
  expect(await listBreaks()).toMatchObject([{ kind: 'missing', chain: 700 }]);
  await acknowledgeBreaks();
});

test('rollbacks and unchanged entries raise no alarm', async () => {
  await expect(addEntry('never', true)).rejects.toThrow('rolled back');
  await Promise.all(Array.from({ length: 40 }, (_, place) => addEntry(`many ${place}`)));
  await sealAll(app);
  await sealAll(app);
  expect(await listBreaks()).toEqual([]);
  const awaitedFile = join(String(app.environment['DATA_FOLDER']), 'audit', 'awaited.jsonl');
  await until(() => !existsSync(awaitedFile) || readFileSync(awaitedFile, 'utf8') === '');
});

test('unsealed entries are stored on the disk of their writer until they are sealed', async () => {
  await whileLocked(async () => {
    await addEntry('kept outside');
    const awaitedText = readFileSync(
      join(String(app.environment['DATA_FOLDER']), 'audit', 'awaited.jsonl'),
      'utf8',
    );
    const [row] = (
      await owner.query<{ id: string }>(`SELECT id::text FROM activity WHERE object_id = 'kept outside'`)
    ).rows;
    expect(awaitedText).toContain(`"id":"${row?.id}"`);
  });
  await sealAll(app);
  expect(await listBreaks()).toEqual([]);
});

test('entries left by an earlier run are checked, unless retention might have removed them', async () => {
  const folder = makeScratchFolder('switchboard-left-');
  mkdirSync(join(folder, 'audit'));
  const digest = Buffer.alloc(32, 7).toString('base64url');
  const awaitedLine = (id: string, daysAgo: number): string =>
    JSON.stringify({
      id,
      chain: 700,
      digest,
      occurredAt: new Date(Date.now() - daysAgo * 86_400_000).toISOString(),
    });
  const lines = [
    awaitedLine('900000001', 1),
    awaitedLine('900000002', 40),
    awaitedLine('900000003', 1).slice(0, 30),
  ];
  writeFileSync(join(folder, 'audit', 'awaited.jsonl'), lines.join('\n'));
  const nextApp = await startTestApp({ environment: { DATA_FOLDER: folder } });
  try {
    await sealAll(nextApp);
    const rows = () => nextApp.database.query('SELECT kind, entry::text FROM audit_break ORDER BY id');
    await until(async () => (await rows()).length > 0);
    expect(await rows()).toEqual([{ kind: 'missing', entry: '900000001' }]);
  } finally {
    await nextApp.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('entries unsealed for a minute are reported in the log, the metric, doctor and as an incident', async () => {
  const age = app.application.get(SealAge, { strict: false });
  await age.check();
  const doctor = async (): Promise<string> => {
    let output = '';
    await executeCommand(['doctor'], {
      environment: { ...app.environment },
      write: (text) => (output += text),
      writeStderr: (text) => (output += text),
      confirm: () => Promise.resolve(false),
    });
    return output;
  };
  const seconds = async (): Promise<number> => {
    const text = await app.application.get(Metrics, { strict: false }).text();
    return Number(/^gateway_audit_unsealed_seconds (\S+)$/m.exec(text)?.[1]);
  };
  await until(async () => (await seconds()) === 0);
  expect(age.lateSince).toBeNull();
  await whileLocked(async () => {
    await addEntry('waits');
    await owner.query(`UPDATE activity_unsealed SET since = since - interval '2 minutes'`);
    // Committed first, so that other sessions see the entry while the block table stays locked.
    await owner.query('COMMIT; BEGIN; LOCK TABLE activity_block IN ACCESS EXCLUSIVE MODE');
    await age.check();
    expect(age.lateSince).toBeInstanceOf(Date);
    expect(await seconds()).toBeGreaterThan(119);
    expect(app.log.some((line) => line.includes('alert: entries of the activity log are not sealed'))).toBe(
      true,
    );
    await until(async () => {
      const rows = await app.database.query(`SELECT FROM incident WHERE kind = 'seal' AND ended_at IS NULL`);
      return rows.length === 1;
    });
    expect(await doctor()).toMatch(
      /fail {2}audit seal: \d+ entries wait for their seal, the oldest for 12\d s/,
    );
  });
  // The service polls every five seconds; a poll that started under the lock may still end.
  await until(async () => (await seconds()) === 0);
  expect(age.lateSince).toBeNull();
  expect(await doctor()).toContain('audit seal: entries are sealed as they come');
});
