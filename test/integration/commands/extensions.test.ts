import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestApp } from '../../support/app';
import { NotesExtension } from '../../support/notes-extension';
import { inSession, queryRows } from '../../support/postgres';
import { CommandFixture, type CommandResult } from './command-fixture';

const notes = new NotesExtension('command-notes');
const other = new NotesExtension('other-notes');
let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
});
afterAll(async () => {
  await fixture.close();
  notes.remove();
  other.remove();
});

const run = async (...words: string[]): Promise<CommandResult> => {
  fixture.environment['EXTENSIONS'] = notes.path;
  try {
    return await fixture.run(words);
  } finally {
    delete fixture.environment['EXTENSIONS'];
  }
};

const owner = <Row extends object>(sql: string): Promise<Row[]> => queryRows<Row>(fixture.test.ownerUrl, sql);
const ordersOf = (id: string): Promise<object[]> =>
  owner(`SELECT id, kind, argument, answer, problem FROM ext_${id}.orders ORDER BY id`);

describe('A command of an extension', () => {
  test('runs with its ports and migrates its tables first', async () => {
    expect(await run('command-notes:add', 'first')).toMatchObject({ code: 0, output: '2 orders\n' });
    expect(await run('command-notes:add', 'second')).toMatchObject({
      code: 0,
      output: '3 orders\n',
      complaint: '',
    });
  });

  test('sets its own exit code and prints a failure as one sentence', async () => {
    expect(await run('command-notes:add')).toMatchObject({
      code: 64,
      output: '',
      complaint: 'Name one kind.\n',
    });
    expect(await run('command-notes:add', 'unprintable')).toMatchObject({
      code: 1,
      complaint: 'command-notes:add failed: it threw what cannot be printed\n',
    });
    expect(await run('command-notes:add', 'broken')).toMatchObject({
      code: 1,
      output: '',
      complaint: 'command-notes:add failed: no broken order can be written\n',
    });
  });

  test('is listed with its extension', async () => {
    const { code, output, complaint } = await run('--help');
    expect([code, complaint]).toEqual([0, '']);
    expect(output).toContain(
      '  command-notes:add KIND\n      Writes an order, and says how many there are. (Of the extension command-notes.)\n',
    );
    expect((await run('command-notes:add', '--help')).output).toMatch(
      /^command-notes:add KIND\n\nWrites an order/,
    );
  });

  test('returns 64 when it is misspelt or its extension is not listed', async () => {
    expect(await run('command-notes:remove')).toMatchObject({ code: 64, output: '' });
    expect(await fixture.run(['command-notes:add'])).toMatchObject({ code: 64, output: '' });
  });

  test('cannot take the name of a built-in command', async () => {
    const shadowFolder = writeExtension(
      'money',
      `commands: [{ name: 'verify', summary: 'Other.', run: () => 7 }]`,
    );
    fixture.environment['EXTENSIONS'] = shadowFolder;
    try {
      expect(await fixture.run(['money:verify'])).toMatchObject({ code: 0 });
      expect(await fixture.run(['money:other'])).toMatchObject({
        code: 78,
        complaint:
          "The extension money cannot be used: its command money:verify is one of the service's own\n",
      });
      const help = await fixture.run(['--help']);
      expect(help.code).toBe(0);
      expect(help.output).toContain('money:verify [--full]');
      expect(help.complaint).toContain('Commands of extensions are not listed: The extension money');
    } finally {
      delete fixture.environment['EXTENSIONS'];
    }
  });

  test('fails when it returns no valid exit code', async () => {
    fixture.environment['EXTENSIONS'] = writeExtension(
      'odd',
      `commands: [{ name: 'x', summary: 'X.', run: () => 'yes' }]`,
    );
    try {
      expect(await fixture.run(['odd:x'])).toMatchObject({
        code: 1,
        complaint: 'odd:x ended with a code that is not from 0 to 255\n',
      });
    } finally {
      delete fixture.environment['EXTENSIONS'];
    }
  });
});

let folderCount = 0;
function writeExtension(id: string, contributions: string): string {
  const folder = join(fixture.folder, `${id}-${(folderCount += 1)}`);
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'index.js'),
    `exports.default = { id: '${id}', version: '1.0.0', host: '^1', setup: () => ({ ${contributions} }) };`,
  );
  return folder;
}

test('extension:list prints the needs, contributions and migrations of each extension', async () => {
  expect(await run('extension:list')).toMatchObject({
    code: 0,
    complaint: '',
    output: [
      'Contract 1.1.0; 1 extension',
      '',
      'command-notes 1.0.0',
      `  from        ${notes.path}`,
      '  contract    ^1',
      '  needs       db, mail.send, http.out',
      '  jobs        work (0 3 * * *), broken (0 3 * * *), deaf (0 3 * * *)',
      '  commands    command-notes:add',
      '  migrations  001-orders.sql, 002-answers.sql',
      '',
    ].join('\n'),
  });
  expect((await fixture.run(['extension:list'])).output).toBe('Contract 1.1.0; 0 extensions\n');
});

describe('extension:drop', () => {
  const start = async (): Promise<void> => {
    const app = await startTestApp({
      sharedDatabase: fixture.test,
      environment: { EXTENSIONS: other.path },
      schedule: true,
    });
    await app.close();
  };
  const dumpFiles = (): string[] =>
    readdirSync(fixture.environment['DATA_FOLDER']!).filter((name) => name.endsWith('.sql'));

  test('refuses a listed extension and an unconfirmed drop', async () => {
    await start();
    expect(await run('extension:drop', 'command-notes', '--yes')).toMatchObject({
      code: 1,
      complaint:
        'command-notes is listed in EXTENSIONS. Take it out there and restart every node; then drop it.\n',
    });
    expect(await fixture.run(['extension:drop', 'other-notes'])).toMatchObject({
      code: 1,
      complaint: 'Nothing was changed. Confirm at a terminal, or with --yes.\n',
    });
    expect(await ordersOf('other_notes')).toHaveLength(1);
    for (const invalidArgs of [[], ['Other'], ['a', 'b']])
      expect((await fixture.run(['extension:drop', ...invalidArgs])).code).toBe(64);
  });

  test('writes all rows to a restorable file and drops schema, role and jobs', async () => {
    await owner(`
      CREATE TABLE ext_other_notes.kinds (
        kind text PRIMARY KEY, "odd ""name" bytea, at timestamptz, many text[], share float8,
        twice text GENERATED ALWAYS AS (kind || kind) STORED);
      INSERT INTO ext_other_notes.kinds VALUES
        (E'it''s \\\\ a\\nkind', '\\x00ff', '2026-01-02 03:04:05.678901+05', '{a,"b c",NULL}', 0.1), ('none', NULL, NULL, NULL, NULL);
      CREATE TABLE ext_other_notes.actual (id bigint GENERATED ALWAYS AS IDENTITY, kind text REFERENCES ext_other_notes.kinds);
      INSERT INTO ext_other_notes.actual (kind) SELECT 'none' FROM generate_series(1, 1201);
      INSERT INTO ext_other_notes.orders (kind, argument) VALUES ('kept', '{"n": null}'), ('last', 'null')`);
    const rowsBefore = [
      await ordersOf('other_notes'),
      await owner('SELECT *, at::text AS exact FROM ext_other_notes.kinds ORDER BY kind'),
      await owner('SELECT * FROM ext_other_notes.actual ORDER BY id'),
    ];
    const path = join(fixture.folder, 'other.sql');
    const { code, output } = await fixture.run(['extension:drop', 'other-notes', '--to', path, '--yes']);
    expect(code).toBe(0);
    expect(output).toContain('tables      actual, kinds, orders');
    expect(output).toContain(`1206 rows are in ${path}, which puts them back`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const [left] = await owner(
      `SELECT to_regnamespace('ext_other_notes') AS schema, to_regrole('ext_other_notes') AS role,
              (SELECT count(*)::int FROM extension_migration WHERE extension = 'other-notes') AS files,
              (SELECT count(*)::int FROM repeating_job WHERE name LIKE 'other-notes/%') AS jobs,
              (SELECT count(*)::int FROM activity WHERE action = 'extension.dropped') AS entries`,
    );
    expect(left).toEqual({ schema: null, role: null, files: 0, jobs: 0, entries: 1 });

    await start();
    await owner(`
      CREATE TABLE ext_other_notes.kinds (
        kind text PRIMARY KEY, "odd ""name" bytea, at timestamptz, many text[], share float8,
        twice text GENERATED ALWAYS AS (kind || kind) STORED);
      CREATE TABLE ext_other_notes.actual (id bigint GENERATED ALWAYS AS IDENTITY, kind text REFERENCES ext_other_notes.kinds)`);
    await owner(readFileSync(path, 'utf8'));
    expect([
      await ordersOf('other_notes'),
      await owner('SELECT *, at::text AS exact FROM ext_other_notes.kinds ORDER BY kind'),
      await owner('SELECT * FROM ext_other_notes.actual ORDER BY id'),
    ]).toEqual(rowsBefore);
    const [next] = await owner<{ id: string }>(
      `INSERT INTO ext_other_notes.orders (kind, argument) VALUES ('next', '{}') RETURNING id`,
    );
    expect(Number(next?.id)).toBe(rowsBefore[0]!.length + 1);
  });

  test('leaves no file and drops nothing when it cannot complete', async () => {
    const existingFile = join(fixture.folder, 'taken.sql');
    writeFileSync(existingFile, 'mine');
    expect(await fixture.run(['extension:drop', 'other-notes', '--to', existingFile, '--yes'])).toMatchObject(
      {
        code: 64,
      },
    );
    expect(readFileSync(existingFile, 'utf8')).toBe('mine');
    await inSession(fixture.test.ownerUrl, async (starting) => {
      await starting.query('SELECT pg_advisory_lock(5719024)');
      expect(await fixture.run(['extension:drop', 'other-notes', '--yes'])).toMatchObject({
        code: 1,
        complaint: 'A node is starting and migrates the database: try again after it.\n',
      });
    });
    expect(dumpFiles()).toEqual([]);
    expect((await ordersOf('other_notes')).length).toBeGreaterThan(0);
  });

  test('prints the path of the file and is safe to repeat', async () => {
    expect((await fixture.run(['extension:drop', 'other-notes'], true)).code).toBe(0);
    expect(dumpFiles()).toEqual([expect.stringMatching(/^extension-other-notes-.*Z\.sql$/)]);
    expect(await fixture.run(['extension:drop', 'other-notes', '--yes'])).toMatchObject({
      code: 0,
      output: 'Nothing of other-notes is in this database.\n',
    });
  });
});
