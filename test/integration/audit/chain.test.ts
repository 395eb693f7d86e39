import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ActivityLog, ActivityRetention, AuditChain, systemActor, verifyExport } from '#product/audit';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { administer } from '../../support/postgres';
import { until } from '../../support/until';

let app: TestApp;
let log: ActivityLog;
let files = 0;

beforeAll(async () => {
  app = await startTestApp({ environment: { ACTIVITY_RETENTION_MONTHS: '2' } });
  log = app.application.get(ActivityLog, { strict: false });
});
afterAll(() => app.close());

const owner = (statement: string): Promise<void> =>
  administer(String(app.environment['MIGRATION_DATABASE_URL']), statement);

const addEntry = (organisationId: number | null, label: string): Promise<void> =>
  app.database.transaction((tx) =>
    log.write(tx, {
      action: 'project.changed',
      object: { type: 'project', id: label, label },
      concerns: { organisationId },
      actor: systemActor('test'),
      changes: { name: ['Zoë "the\nfirst"', label] },
    }),
  );

/** Seals immediately, which the service otherwise does periodically. */
const seal = (): Promise<void> => sealAll(app);

async function runCommand(words: string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const code = await executeCommand(words, {
    environment: { ...app.environment },
    write: (text) => (output += text),
    writeStderr: (text) => (output += text),
    confirm: () => Promise.resolve(false),
  });
  return { code, output };
}

const newFile = (): string => join(String(app.environment['DATA_FOLDER']), `export-${(files += 1)}.jsonl`);

async function exportChain(...words: string[]): Promise<string> {
  const file = newFile();
  const { code, output } = await runCommand(['audit:export', file, ...words]);
  expect([code, output]).toEqual([0, expect.stringContaining('signed by')]);
  return readFileSync(file, 'utf8');
}

async function verifyText(text: string, ...words: string[]): Promise<{ code: number; output: string }> {
  const file = newFile();
  writeFileSync(file, text);
  try {
    return await runCommand(['audit:verify', file, ...words]);
  } finally {
    rmSync(file);
  }
}

const entryOf = async (label: string): Promise<number> => {
  const [row] = await app.database.query<{ id: string }>('SELECT id FROM activity WHERE object_id = $1', [
    label,
  ]);
  return Number(row?.id);
};

test('an entry is sealed automatically in the chain of its organisation', async () => {
  await Promise.all([addEntry(7, 'seven'), addEntry(8, 'eight'), addEntry(null, 'of nobody')]);
  const unsealedEntries = async (): Promise<unknown[]> =>
    app.database.query('SELECT entry_id FROM activity_unsealed LIMIT 1');
  await until(async () => (await unsealedEntries()).length === 0);
  for (const [chain, label] of [
    [7, 'seven'],
    [8, 'eight'],
    [0, 'of nobody'],
  ] as const) {
    const blocks = await app.database.query<{ chain: number }>(
      'SELECT chain FROM activity_block WHERE $1 = ANY (entries)',
      [await entryOf(label)],
    );
    expect(blocks).toEqual([{ chain }]);
  }
});

test('several nodes seal each entry once, and a crash in between loses nothing', async () => {
  const secondNode = await startTestApp({
    environment: { MASTER_KEY: 'another-node-has-the-same-master-key-as-it-must-have' },
    sharedDatabase: {
      url: String(app.environment['DATABASE_URL']),
      ownerUrl: String(app.environment['MIGRATION_DATABASE_URL']),
    },
  });
  try {
    const otherChain = secondNode.application.get(AuditChain, { strict: false });
    const insertions = Array.from({ length: 60 }, (_, number) => addEntry(9, `shared ${number}`));
    await Promise.all([...insertions, otherChain.seal(), seal(), otherChain.seal(), seal()]);
    await seal();
  } finally {
    await secondNode.close();
  }
  await expect(
    app.database.transaction(async (tx) => {
      await tx.query('DELETE FROM activity_block');
    }),
  ).rejects.toThrow('permission denied');
  const text = await exportChain('--organisation', '9');
  expect(text.match(/"action":"project.changed"/g)).toHaveLength(60);
  expect(await verifyText(text)).toEqual({
    code: 0,
    output: expect.stringContaining('all as they were sealed'),
  });
});

test('an entry changed outside the service is reported by its number', async () => {
  for (const label of ['first', 'second', 'third', 'fourth']) {
    await addEntry(10, label);
    await seal();
  }
  const completeExport = await exportChain('--organisation', '10');
  expect((await verifyText(completeExport)).code).toBe(0);
  const [second, third] = [await entryOf('second'), await entryOf('third')];
  await owner(`
    ALTER TABLE activity DISABLE TRIGGER activity_is_final;
    UPDATE activity SET actor_label = 'somebody else' WHERE id = ${second};
    DELETE FROM activity WHERE id = ${third};
    ALTER TABLE activity ENABLE TRIGGER activity_is_final`);
  const { code, output } = await verifyText(await exportChain('--organisation', '10'));
  expect(code).toBe(1);
  expect(output).toMatch(new RegExp(`ENTRY EDITED +entry ${second}, block 2, the chain of organisation 10`));
  expect(output).toMatch(new RegExp(`ENTRY MISSING +entry ${third}, block 3`));
  expect(output).toContain('2 findings');
});

test('a chain truncated in the database contradicts the anchor', async () => {
  for (const label of ['kept', 'cut']) {
    await addEntry(11, label);
    await seal();
  }
  const anchor = join(String(app.environment['DATA_FOLDER']), 'audit', 'anchor.jsonl');
  const exportFile = newFile();
  writeFileSync(exportFile, readFileSync(anchor));
  await owner(`
    ALTER TABLE activity DISABLE TRIGGER activity_is_final;
    ALTER TABLE activity_block DISABLE TRIGGER activity_block_is_final;
    DELETE FROM activity WHERE organisation_id = 11 AND object_id = 'cut';
    DELETE FROM activity_block WHERE chain = 11 AND number = 2;
    ALTER TABLE activity ENABLE TRIGGER activity_is_final;
    ALTER TABLE activity_block ENABLE TRIGGER activity_block_is_final`);
  const node = app.application.get(AuditChain, { strict: false });
  const lines: string[] = [];
  const exportInto = (into: string[]) => node.export((text) => Promise.resolve(void into.push(text)), 11);
  // Concurrent exports report the contradiction once.
  await Promise.all([exportInto(lines), exportInto([]), exportInto([])]);
  const truncatedExport = lines.join('');
  expect((await verifyText(truncatedExport)).output).toMatch(
    /END CUT OFF +block 2, the chain of organisation 11/,
  );
  // The chain continues, and the contradiction is reported and stored as evidence.
  await addEntry(11, 'later');
  await seal();
  expect(app.log.join('')).toContain('contradicts its anchor');
  const [line, ...more] = app.log.filter((text) => text.includes('contradicts its anchor'));
  expect(more).toEqual([]);
  const { evidence } = JSON.parse(String(line)) as { evidence: string };
  expect(existsSync(evidence)).toBe(true);
  expect((await verifyText(await exportChain('--organisation', '11'))).output).toContain(
    'another block was anchored',
  );
  // Reported until an operator has examined and removed the evidence.
  rmSync(evidence);
  const laterExport = await exportChain('--organisation', '11');
  expect((await verifyText(laterExport)).code).toBe(0);
  expect((await verifyText(laterExport, '--anchor', exportFile)).output).toContain(
    'another block was anchored',
  );
});

test('only the named key of the installation is accepted when one is given', async () => {
  const text = await exportChain('--platform');
  const { output } = await verifyText(text);
  const [, key = ''] = /signed by ([\w-]{43})/.exec(output) ?? [];
  const [strange] = [Buffer.alloc(32, 1).toString('base64url')];
  const keyOptions = [...output.matchAll(/[\w-]{43}/g)].flatMap(([found]) => ['--key', found]);
  expect((await verifyText(text, ...keyOptions)).code).toBe(0);
  expect((await verifyText(text, '--key', strange)).output).toContain('FIRST LINE ALTERED');
  expect(key).not.toBe('');
});

test('retention empties complete blocks, keeps their headers and logs the removal in the chain', async () => {
  const insert = (label: string, age: string): Promise<unknown> =>
    app.database.query(
      `INSERT INTO activity (action, actor_kind, actor_label, organisation_id, object_type, object_id, occurred_at)
       VALUES ('key.created', 'system', 'test', 12, 'key', '${label}', now() - interval '${age}')`,
    );
  for (const [label, age] of [
    ['oldest', '6 months'],
    ['old', '5 months'],
    ['young', '1 day'],
    ['late', '5 months'],
  ] as const) {
    await insert(label, age);
    await seal();
  }
  await insert('waits', '5 months');
  const retention = app.application.get(ActivityRetention, { strict: false });
  expect(await retention.deleteExpired(new Date())).toBe(2);
  const remainingEntries = await app.database.query<{ id: string }>(
    `SELECT object_id AS id FROM activity WHERE organisation_id = 12 AND action = 'key.created' ORDER BY activity.id`,
  );
  expect(remainingEntries.map(({ id }) => id)).toEqual(['young', 'late', 'waits']);
  const text = await exportChain('--organisation', '12');
  const { code, output } = await verifyText(text);
  expect([code, output]).toEqual([0, expect.stringContaining('Retention has emptied 2 blocks')]);
  // Without its logged entry, the removal counts as tampering.
  const tamperedExport = text.split('\n').filter((line) => !line.includes('log.forgotten'));
  expect((await verifyText(tamperedExport.join('\n'))).output).toMatch(
    /EMPTIED, NOT ON RECORD +blocks 1 to 2/,
  );
});

test('erasing a user keeps the chain valid', async () => {
  const [row] = await app.database.query<{ id: number }>(
    `INSERT INTO user_account (email, display_name, role, status) VALUES ('gone@example.com', 'Gone', 'user', 'active')
     RETURNING id`,
  );
  await app.database.query(
    `INSERT INTO activity (action, actor_kind, actor_user_id, actor_role, actor_label, user_id, object_type)
     VALUES ('account.registered', 'user', $1, 'user', 'Gone (gone@example.com)', $1, 'account')`,
    [row?.id],
  );
  await seal();
  await owner(`DELETE FROM user_account WHERE id = ${row?.id}`);
  const text = await exportChain('--platform');
  expect(text).toContain('Gone (gone@example.com)');
  expect((await verifyText(text)).code).toBe(0);
});

test('an existing file is not overwritten, and a file that is no export fails verification', async () => {
  const file = newFile();
  writeFileSync(file, 'mine');
  expect(await runCommand(['audit:export', file])).toEqual({
    code: 1,
    output: expect.stringContaining('there already'),
  });
  expect(readFileSync(file, 'utf8')).toBe('mine');
  for (const text of ['', 'mine', '{"export":{}}\n'])
    expect((await verifyText(text)).output).toContain('FIRST LINE ALTERED');
  expect((await runCommand(['audit:verify'])).code).toBe(64);
  const empty = await verifyExport((async function* () {})(), { everySignature: true });
  expect(empty.count).toBe(1);
});
