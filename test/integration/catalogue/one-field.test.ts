import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../../support/child';
import { Program } from '../../system/program';
import { createTestDatabase, rowsOf, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { Browser } from '../accounts/account-house';

/** The product is built of these; packages are those of the project. */
const project = join(__dirname, '..', '..', '..');
const parts = [
  'packages',
  'src',
  'migrations',
  'simulator',
  'locales',
  'views',
  'public',
  'docs',
  'scripts',
  '.swcrc',
];
const LONG = 240_000;

let copy: string;
let data: string;
let database: TestDatabase;
let environment: Record<string, string>;
let service: Program;
let owner: Browser;

/** Everything a developer does for a new field of a model and of a key: its definition, its column, its label. */
function addFields(): void {
  edit('src/catalogue/entities/model-fields.ts', (text) =>
    text.replace('  retires_at: ', "  reviewed_at: kept.instant().nullable('never'),\n  retires_at: "),
  );
  edit('src/keys/key-fields.ts', (text) =>
    text.replace('  expires_at: ', "  reviewed_at: kept.instant().nullable('never'),\n  expires_at: "),
  );
  writeFileSync(
    join(copy, 'migrations', '1999000000000-add-model-review.ts'),
    `import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddModelReview1999000000000 implements MigrationInterface {
  readonly name = 'AddModelReview1999000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model ADD COLUMN reviewed_at timestamptz');
    await runner.query('ALTER TABLE api_key ADD COLUMN reviewed_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN reviewed_at');
    await runner.query('ALTER TABLE api_key DROP COLUMN reviewed_at');
  }
}
`,
  );
  edit('migrations/index.ts', (text) =>
    text
      .replace('  // New ones go above', '  AddModelReview1999000000000,\n  // New ones go above')
      .concat("import { AddModelReview1999000000000 } from './1999000000000-add-model-review';\n"),
  );
  for (const language of ['de', 'en', 'es', 'fr', 'it'])
    edit(`locales/${language}.json`, (text) => {
      const texts = JSON.parse(text) as { model: object; key: object };
      for (const thing of [texts.model, texts.key])
        Object.assign(thing, { reviewed_at: { label: `Reviewed at (${language})` } });
      return JSON.stringify(texts);
    });
}

function edit(file: string, change: (text: string) => string): void {
  const before = readFileSync(join(copy, file), 'utf8');
  const after = change(before);
  expect([file, after === before]).toEqual([file, false]);
  writeFileSync(join(copy, file), after);
}

async function build(): Promise<void> {
  const builder = Program.run(process.execPath, [join(copy, 'scripts', 'bundle.cjs')]);
  const { code, complaint } = await builder.finish();
  expect([code, complaint]).toEqual([0, '']);
}

beforeAll(async () => {
  [copy, data] = [makeScratchFolder('switchboard-copy-'), makeScratchFolder('switchboard-copy-data-')];
  for (const part of parts) cpSync(join(project, part), join(copy, part), { recursive: true });
  cpSync(join(project, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  addFields();
  [database] = await Promise.all([createTestDatabase(), build()]);
  environment = {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
    DATA_FOLDER: data,
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    SANDBOX: 'off',
    SESSION_SECRET: 'a secret of the tests, long enough for anybody',
    KEY_PEPPER: 'a pepper of the tests, long enough for anybody',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  service = runChild(join(copy, 'dist', 'bundle', 'main.js'), [], environment);
  const [, url = ''] = await service.find(/ is ready at (http:\S+)/);
  const [, token = ''] = await service.find(/sign-in-link\?token=([\w-]{43})/);
  owner = new Browser(url);
  expect((await owner.post('/sign-in-link', { token })).status).toBe(200);
}, LONG);

afterAll(async () => {
  await service.stop();
  await database.drop();
  for (const folder of [copy, data]) rmSync(folder, { recursive: true, force: true });
}, LONG);

const REVIEWED = '2027-01-31T12:00:00.000Z';

/** The command line of the copy. */
async function command(...words: string[]): Promise<string> {
  return (await runChild(join(copy, 'dist', 'bundle', 'cli.js'), words, environment).finish()).output;
}

test('a field of a model that is declared in one file is in its API, page, file, plan, log and description', async () => {
  const given = { model: 'acme/large', kind: 'chat', owned_by: 'acme', reviewed_at: '2027-01-31T12:00' };
  const made = await owner.post('/dashboard/admin/models/create', given);
  expect([made.status, JSON.parse(made.text)]).toEqual([
    200,
    expect.objectContaining({ model: 'acme/large', reviewed_at: REVIEWED, retires_at: null }),
  ]);

  const page = await owner.page('/dashboard/admin/models/edit?model=acme%2Flarge');
  expect(page.text).toContain('Reviewed at (en)');
  expect(page.text).toMatch(
    /<input id="reviewed-at" name="reviewed_at" type="datetime-local" value="2027-01-31T12:00"/,
  );

  const refused = await owner.post('/dashboard/admin/models/update', { ...given, reviewed_at: 'soon' });
  expect([refused.status, refused.text]).toEqual([
    422,
    expect.stringContaining('reviewed_at must be a day or a time'),
  ]);

  const exported = await command('export');
  expect(exported).toContain(`reviewed_at: ${REVIEWED}`);
  const file = join(data, 'gateway.yaml');
  writeFileSync(file, exported.replace(`reviewed_at: ${REVIEWED}`, 'reviewed_at: 2028-02-29T00:00:00Z'));
  expect(await command('plan', file)).toMatch(
    /reviewed_at.*2027-01-31T12:00:00.000Z.*2028-02-29T00:00:00.000Z/,
  );

  const emptied = await owner.submit('/dashboard/admin/models/update', {
    model: 'acme/large',
    reviewed_at: '',
  });
  expect(emptied.status).toBe(303);
  const entries = await rowsOf<{ changes: Record<string, unknown> }>(
    database.ownerUrl,
    "SELECT changes FROM activity WHERE action LIKE 'model.%' ORDER BY id",
  );
  expect(entries.map(({ changes }) => changes['reviewed_at'])).toEqual([
    [null, REVIEWED],
    [REVIEWED, null],
  ]);

  const table = await owner.get('/dashboard/admin/audit/export');
  expect(table.text).toContain('reviewed_at');
  const described = await owner.get('/openapi.json');
  expect(described.text).toContain('"reviewed_at"');
});

test('so is a field of a key', async () => {
  const made = await owner.post('/dashboard/keys/new', { name: 'mine', reviewed_at: REVIEWED });
  const path = `/dashboard/keys/${(JSON.parse(made.text) as { id: number }).id}`;
  expect([made.status, (await owner.page(path)).text]).toEqual([
    200,
    expect.stringMatching(
      /Reviewed at \(en\)[^]*<input id="reviewed-at" name="reviewed_at" type="datetime-local" value="2027-01-31T12:00"/,
    ),
  ]);
  const refused = await owner.post(path, { reviewed_at: 'soon' });
  expect([refused.status, refused.text]).toEqual([
    422,
    expect.stringContaining('reviewed_at must be a day or a time'),
  ]);

  const exported = await command('export');
  expect(exported).toMatch(/ {2}mine:\n( {4}.*\n)* {4}reviewed_at: 2027-01-31T12:00:00.000Z/);
  const file = join(data, 'gateway.yaml');
  writeFileSync(file, exported.replace(`reviewed_at: ${REVIEWED}`, 'reviewed_at: 2028-02-29T00:00:00Z'));
  expect(await command('plan', file)).toMatch(
    /key mine\n.*reviewed_at.*2027-01-31T12:00:00.000Z.*2028-02-29T00:00:00.000Z/,
  );

  const given = await owner.submit(path, { name: 'mine', reviewed_at: '2028-02-29' });
  const emptied = await owner.submit(path, { name: 'mine', reviewed_at: '' });
  expect([given.status, emptied.status]).toEqual([303, 303]);
  const entries = await rowsOf<{ changes: Record<string, unknown> }>(
    database.ownerUrl,
    "SELECT changes FROM activity WHERE action IN ('key.created', 'key.changed') ORDER BY id DESC LIMIT 3",
  );
  expect(entries.reverse().map(({ changes }) => changes['reviewed_at'])).toEqual([
    [null, REVIEWED],
    [REVIEWED, '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', null],
  ]);
  const described = await owner.get('/v1/openapi.json');
  expect(described.text).toContain('"reviewed_at"');
});
