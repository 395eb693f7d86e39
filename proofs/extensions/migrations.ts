import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Findings } from '../../test/system/findings';
import { Program } from '../../test/system/program';
import { ExtensionTestbed } from './testbed';

const EXIT_CONFIGURATION = 78;
const START_DEADLINE_MS = 60_000;

/** Migration files by name. */
type MigrationFiles = Readonly<Record<string, string>>;

const first = 'CREATE TABLE note (id int PRIMARY KEY);\nINSERT INTO note VALUES (1);\n';
const second = 'ALTER TABLE note ADD COLUMN text text;\n';
const validFiles: MigrationFiles = { '001-note.sql': first, '002-text.sql': second };
const withFaultyFile = (sql: string): MigrationFiles => ({ ...validFiles, '003-fault.sql': sql });

interface RejectedMigration {
  readonly what: string;
  readonly files: MigrationFiles;
  /** Text of the rejection, which also names the extension. */
  readonly says: string;
}

/** Cases in which the first two files have already run. */
const laterMigrations: readonly RejectedMigration[] = [
  {
    what: 'a changed file',
    files: { ...validFiles, '002-text.sql': 'SELECT 1' },
    says: '002-text.sql was run here and has been changed',
  },
  {
    what: 'a missing file',
    files: { '002-text.sql': second },
    says: '001-note.sql was run here and is missing',
  },
  {
    what: 'a file before the others',
    files: { ...validFiles, '000-late.sql': 'SELECT 1' },
    says: '000-late.sql comes before',
  },
  {
    what: 'a syntax error',
    files: withFaultyFile('CREATE TABEL more (id int)'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a failure half way',
    files: withFaultyFile('CREATE TABLE more (id int);\nDELETE FROM note;\nSELECT nothing FROM nowhere;'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a division by nothing',
    files: withFaultyFile('INSERT INTO note SELECT 1 / 0'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a change of role',
    files: withFaultyFile('SET ROLE switchboard_app'),
    says: '003-fault.sql failed',
  },
  { what: 'its role put down', files: withFaultyFile('RESET ROLE'), says: '003-fault.sql failed' },
  {
    what: 'an end of the transaction',
    files: withFaultyFile('DELETE FROM note; COMMIT'),
    says: '003-fault.sql failed',
  },
  {
    what: 'keys of the service',
    files: withFaultyFile('SELECT * FROM public.api_key'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a table of the service dropped',
    files: withFaultyFile('DROP TABLE public.api_key'),
    says: '003-fault.sql failed',
  },
  {
    what: 'its own record changed',
    files: withFaultyFile('DELETE FROM public.extension_migration'),
    says: '003-fault.sql failed',
  },
  {
    what: 'a file of no text',
    files: withFaultyFile('SELECT 1;\0'),
    says: '003-fault.sql has a NUL character',
  },
  {
    what: 'a file without a number',
    files: { ...validFiles, 'more.sql': 'SELECT 1' },
    says: 'more.sql of its migrations is not named',
  },
  { what: 'a number twice', files: { ...validFiles, '002-more.sql': 'SELECT 1' }, says: 'have one number' },
  {
    what: 'a file too large',
    files: withFaultyFile(' '.repeat(1024 * 1024 + 1)),
    says: '003-fault.sql is no file of at most 1 MiB',
  },
];

/** An extension is loaded once per process, so each set of files has its own folder. */
class ExtensionFolders {
  private folderCount = 0;

  constructor(private readonly folder: string) {}

  createExtension(files: MigrationFiles): string {
    const extensionFolder = join(this.folder, String((this.folderCount += 1)));
    mkdirSync(join(extensionFolder, 'migrations'), { recursive: true });
    writeFileSync(
      join(extensionFolder, 'index.js'),
      `exports.default = { id: 'tables', version: '1.0.0', host: '^1', needs: ['db'], migrations: './migrations',
        setup: ({ ports }) => ({ commands: [{ name: 'look', summary: 'Shows its rows', run: async (_, { write }) =>
          write(JSON.stringify(await ports.db.query('SELECT id, text FROM note'))) }] }) };`,
    );
    for (const [name, sql] of Object.entries(files))
      writeFileSync(join(extensionFolder, 'migrations', name), sql);
    return extensionFolder;
  }
}

/** Each start is rejected naming its file and leaves nothing behind, and the correct files start again. */
export async function proveMigrations(findings: Findings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-migrations-'));
  const extensions = new ExtensionFolders(folder);
  const testbed = await ExtensionTestbed.open([extensions.createExtension({ '001-note.sql': first })]);
  try {
    const brokenFiles = { '001-note.sql': first, '002-text.sql': 'ALTER TABEL note' };
    const halfway: RejectedMigration = {
      what: 'a syntax error in the second file',
      files: brokenFiles,
      says: '002-text.sql failed',
    };
    const wrong = await startAll(testbed, extensions, [halfway]);
    await testbed.restart([extensions.createExtension(validFiles)]);
    wrong.push(...(await startAll(testbed, extensions, laterMigrations)));
    findings.addCases(
      'migrations',
      laterMigrations.length + 1,
      wrong.length,
      wrong.length === 0 ? undefined : wrong.join('\n'),
    );
    await testbed.restart([extensions.createExtension(validFiles)]);
    const { output } = await testbed.node.command('tables:look');
    findings.add('its tables are as they were', output.includes('[{"id":1,"text":null}]'), output);
    const illness = await testbed.findProblem();
    findings.add(
      'the service with the right files answers a request that is paid for',
      illness === null,
      illness ?? '',
    );
    findings.add('the books hold', (await testbed.node.discrepancies()) === 0);
  } finally {
    await testbed.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startAll(
  testbed: ExtensionTestbed,
  extensions: ExtensionFolders,
  trials: readonly RejectedMigration[],
): Promise<string[]> {
  const failures: string[] = [];
  await testbed.node.stop();
  for (const { what, files, says } of trials) {
    const environment = { ...testbed.node.environment, EXTENSIONS: extensions.createExtension(files) };
    const { code, text } = await Program.node('bundle/main.js', [], environment).finish(START_DEADLINE_MS);
    const namesExtension = text.includes('The extension tables cannot be used') && text.includes(says);
    if (code !== EXIT_CONFIGURATION || !namesExtension)
      failures.push(`${what}: it ended with ${code}: ${text.slice(-400)}`);
  }
  return failures;
}
