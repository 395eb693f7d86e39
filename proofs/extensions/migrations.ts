import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Findings } from '../../test/system/findings';
import { Program } from '../../test/system/program';
import { Testbed } from './testbed';

const EXIT_CONFIGURATION = 78;
const START_DEADLINE_MS = 60_000;

/** Files of migrations by their names. */
type Files = Readonly<Record<string, string>>;

const first = 'CREATE TABLE note (id int PRIMARY KEY);\nINSERT INTO note VALUES (1);\n';
const second = 'ALTER TABLE note ADD COLUMN text text;\n';
const right: Files = { '001-note.sql': first, '002-text.sql': second };
const third = (sql: string): Files => ({ ...right, '003-fault.sql': sql });

interface Migration {
  readonly what: string;
  readonly files: Files;
  /** The refusal names the extension, and says this. */
  readonly says: string;
}

/** The first two files were run before. */
const later: readonly Migration[] = [
  {
    what: 'a changed file',
    files: { ...right, '002-text.sql': 'SELECT 1' },
    says: '002-text.sql was run here and has been changed',
  },
  {
    what: 'a missing file',
    files: { '002-text.sql': second },
    says: '001-note.sql was run here and is missing',
  },
  {
    what: 'a file before the others',
    files: { ...right, '000-late.sql': 'SELECT 1' },
    says: '000-late.sql comes before',
  },
  { what: 'a syntax error', files: third('CREATE TABEL more (id int)'), says: '003-fault.sql failed' },
  {
    what: 'a failure half way',
    files: third('CREATE TABLE more (id int);\nDELETE FROM note;\nSELECT nothing FROM nowhere;'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a division by nothing',
    files: third('INSERT INTO note SELECT 1 / 0'),
    says: '003-fault.sql failed',
  },
  { what: 'a change of role', files: third('SET ROLE switchboard_app'), says: '003-fault.sql failed' },
  { what: 'its role put down', files: third('RESET ROLE'), says: '003-fault.sql failed' },
  {
    what: 'an end of the transaction',
    files: third('DELETE FROM note; COMMIT'),
    says: '003-fault.sql failed',
  },
  { what: 'keys of the service', files: third('SELECT * FROM public.api_key'), says: '003-fault.sql failed' },
  {
    what: 'a table of the service dropped',
    files: third('DROP TABLE public.api_key'),
    says: '003-fault.sql failed',
  },
  {
    what: 'its own record changed',
    files: third('DELETE FROM public.extension_migration'),
    says: '003-fault.sql failed',
  },
  { what: 'a file of no text', files: third('SELECT 1;\0'), says: '003-fault.sql has a NUL character' },
  {
    what: 'a file without a number',
    files: { ...right, 'more.sql': 'SELECT 1' },
    says: 'more.sql of its migrations is not named',
  },
  { what: 'a number twice', files: { ...right, '002-more.sql': 'SELECT 1' }, says: 'have one number' },
  {
    what: 'a file too large',
    files: third(' '.repeat(1024 * 1024 + 1)),
    says: '003-fault.sql is no file of at most 1 MiB',
  },
];

/** An extension is loaded once a process, so each set of files has a folder of its own. */
class Extensions {
  private made = 0;

  constructor(private readonly folder: string) {}

  with(files: Files): string {
    const place = join(this.folder, String((this.made += 1)));
    mkdirSync(join(place, 'migrations'), { recursive: true });
    writeFileSync(
      join(place, 'index.js'),
      `exports.default = { id: 'tables', version: '1.0.0', host: '^1', needs: ['db'], migrations: './migrations',
        setup: ({ ports }) => ({ commands: [{ name: 'look', summary: 'Shows its rows', run: async (_, { write }) =>
          write(JSON.stringify(await ports.db.query('SELECT id, text FROM note'))) }] }) };`,
    );
    for (const [name, sql] of Object.entries(files)) writeFileSync(join(place, 'migrations', name), sql);
    return place;
  }
}

/** Each start is refused in the name of its file; nothing of it stays, and the right files start again. */
export async function proveMigrations(findings: Findings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-migrations-'));
  const extensions = new Extensions(folder);
  const testbed = await Testbed.open([extensions.with({ '001-note.sql': first })]);
  try {
    const broken = { '001-note.sql': first, '002-text.sql': 'ALTER TABEL note' };
    const halfway: Migration = {
      what: 'a syntax error in the second file',
      files: broken,
      says: '002-text.sql failed',
    };
    const wrong = await refused(testbed, extensions, [halfway]);
    await testbed.restart([extensions.with(right)]);
    wrong.push(...(await refused(testbed, extensions, later)));
    findings.many(
      'migrations',
      later.length + 1,
      wrong.length,
      wrong.length === 0 ? undefined : wrong.join('\n'),
    );
    await testbed.restart([extensions.with(right)]);
    const { output } = await testbed.node.command('tables:look');
    findings.add('its tables are as they were', output.includes('[{"id":1,"text":null}]'), output);
    const ill = await testbed.illness();
    findings.add(
      'the service with the right files answers a request that is paid for',
      ill === null,
      ill ?? '',
    );
    findings.add('the books hold', (await testbed.node.discrepancies()) === 0);
  } finally {
    await testbed.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function refused(
  testbed: Testbed,
  extensions: Extensions,
  trials: readonly Migration[],
): Promise<string[]> {
  const wrong: string[] = [];
  await testbed.node.stop();
  for (const { what, files, says } of trials) {
    const environment = { ...testbed.node.environment, EXTENSIONS: extensions.with(files) };
    const { code, text } = await Program.node('bundle/main.js', [], environment).finish(START_DEADLINE_MS);
    const isNamed = text.includes('The extension tables cannot be used') && text.includes(says);
    if (code !== EXIT_CONFIGURATION || !isNamed)
      wrong.push(`${what}: it ended with ${code}: ${text.slice(-400)}`);
  }
  return wrong;
}
