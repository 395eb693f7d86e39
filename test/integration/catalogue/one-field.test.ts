import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../../support/child';
import { Program } from '../../system/program';
import { createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { Browser } from '../accounts/account-fixture';

/** Folders from which the product is built; packages are those of the project. */
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
const BUILD_TIMEOUT_MS = 240_000;

let copyFolder: string;
let data: string;
let database: TestDatabase;
let environment: Record<string, string>;
let service: Program;
let owner: Browser;

/** All steps for a new field of a model and a key: definition, column and label. */
function addFields(): void {
  editFile('src/catalogue/entities/model-fields.ts', (text) =>
    text.replace('  retires_at: ', "  reviewed_at: propertyOf.instant().nullable('never'),\n  retires_at: "),
  );
  editFile('src/keys/key-fields.ts', (text) =>
    text.replace('  expires_at: ', "  reviewed_at: propertyOf.instant().nullable('never'),\n  expires_at: "),
  );
  writeFileSync(
    join(copyFolder, 'migrations', '1999000000000-add-model-review.ts'),
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
  editFile('migrations/index.ts', (text) =>
    text
      .replace('  // New ones go above', '  AddModelReview1999000000000,\n  // New ones go above')
      .concat("import { AddModelReview1999000000000 } from './1999000000000-add-model-review';\n"),
  );
  for (const language of ['de', 'en', 'es', 'fr', 'it'])
    editFile(`locales/${language}.json`, (text) => {
      const texts = JSON.parse(text) as { model: object; key: object };
      for (const section of [texts.model, texts.key])
        Object.assign(section, { reviewed_at: { label: `Reviewed at (${language})` } });
      return JSON.stringify(texts);
    });
}

function editFile(file: string, change: (text: string) => string): void {
  const textBefore = readFileSync(join(copyFolder, file), 'utf8');
  const textAfter = change(textBefore);
  expect([file, textAfter === textBefore]).toEqual([file, false]);
  writeFileSync(join(copyFolder, file), textAfter);
}

async function buildCopy(): Promise<void> {
  const builder = Program.run(process.execPath, [join(copyFolder, 'scripts', 'bundle.cjs')]);
  const { code, complaint } = await builder.finish();
  expect([code, complaint]).toEqual([0, '']);
}

beforeAll(async () => {
  [copyFolder, data] = [makeScratchFolder('switchboard-copy-'), makeScratchFolder('switchboard-copy-data-')];
  for (const part of parts) cpSync(join(project, part), join(copyFolder, part), { recursive: true });
  cpSync(join(project, 'package.json'), join(copyFolder, 'package.json'));
  symlinkSync(join(project, 'node_modules'), join(copyFolder, 'node_modules'));
  addFields();
  [database] = await Promise.all([createTestDatabase(), buildCopy()]);
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
  service = runChild(join(copyFolder, 'dist', 'bundle', 'main.js'), [], environment);
  const [, url = ''] = await service.find(/ is ready at (http:\S+)/);
  const [, token = ''] = await service.find(/sign-in-link\?token=([\w-]{43})/);
  owner = new Browser(url);
  expect((await owner.post('/sign-in-link', { token })).status).toBe(200);
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await service.stop();
  await database.drop();
  for (const folder of [copyFolder, data]) rmSync(folder, { recursive: true, force: true });
}, BUILD_TIMEOUT_MS);

const REVIEWED = '2027-01-31T12:00:00.000Z';

/** Runs the CLI of the copy. */
async function runCli(...words: string[]): Promise<string> {
  return (await runChild(join(copyFolder, 'dist', 'bundle', 'cli.js'), words, environment).finish()).output;
}

test('a model field declared in one file appears in API, page, gateway file, plan, log and OpenAPI', async () => {
  const modelForm = { model: 'acme/large', kind: 'chat', owned_by: 'acme', reviewed_at: '2027-01-31T12:00' };
  const createResult = await owner.post('/dashboard/admin/models/create', modelForm);
  expect([createResult.status, JSON.parse(createResult.text)]).toEqual([
    200,
    expect.objectContaining({ model: 'acme/large', reviewed_at: REVIEWED, retires_at: null }),
  ]);

  const page = await owner.page('/dashboard/admin/models/edit?model=acme%2Flarge');
  expect(page.text).toContain('Reviewed at (en)');
  expect(page.text).toMatch(
    /<input id="reviewed-at" name="reviewed_at" type="datetime-local" value="2027-01-31T12:00"/,
  );

  const refusal = await owner.post('/dashboard/admin/models/update', { ...modelForm, reviewed_at: 'soon' });
  expect([refusal.status, refusal.text]).toEqual([
    422,
    expect.stringContaining('reviewed_at must be a day or a time'),
  ]);

  const exportText = await runCli('export');
  expect(exportText).toContain(`reviewed_at: ${REVIEWED}`);
  const file = join(data, 'gateway.yaml');
  writeFileSync(file, exportText.replace(`reviewed_at: ${REVIEWED}`, 'reviewed_at: 2028-02-29T00:00:00Z'));
  expect(await runCli('plan', file)).toMatch(
    /reviewed_at.*2027-01-31T12:00:00.000Z.*2028-02-29T00:00:00.000Z/,
  );

  const emptiedForm = await owner.submit('/dashboard/admin/models/update', {
    model: 'acme/large',
    reviewed_at: '',
  });
  expect(emptiedForm.status).toBe(303);
  const entries = await queryRows<{ changes: Record<string, unknown> }>(
    database.ownerUrl,
    "SELECT changes FROM activity WHERE action LIKE 'model.%' ORDER BY id",
  );
  expect(entries.map(({ changes }) => changes['reviewed_at'])).toEqual([
    [null, REVIEWED],
    [REVIEWED, null],
  ]);

  const auditExport = await owner.get('/dashboard/admin/audit/export');
  expect(auditExport.text).toContain('reviewed_at');
  const openApi = await owner.get('/openapi.json');
  expect(openApi.text).toContain('"reviewed_at"');
});

test('a key field declared in one file appears everywhere as well', async () => {
  const createResult = await owner.post('/dashboard/keys/new', { name: 'mine', reviewed_at: REVIEWED });
  const path = `/dashboard/keys/${(JSON.parse(createResult.text) as { id: number }).id}`;
  expect([createResult.status, (await owner.page(path)).text]).toEqual([
    200,
    expect.stringMatching(
      /Reviewed at \(en\)[^]*<input id="reviewed-at" name="reviewed_at" type="datetime-local" value="2027-01-31T12:00"/,
    ),
  ]);
  const refusal = await owner.post(path, { reviewed_at: 'soon' });
  expect([refusal.status, refusal.text]).toEqual([
    422,
    expect.stringContaining('reviewed_at must be a day or a time'),
  ]);

  const exportText = await runCli('export');
  expect(exportText).toMatch(/ {2}mine:\n( {4}.*\n)* {4}reviewed_at: 2027-01-31T12:00:00.000Z/);
  const file = join(data, 'gateway.yaml');
  writeFileSync(file, exportText.replace(`reviewed_at: ${REVIEWED}`, 'reviewed_at: 2028-02-29T00:00:00Z'));
  expect(await runCli('plan', file)).toMatch(
    /key mine\n.*reviewed_at.*2027-01-31T12:00:00.000Z.*2028-02-29T00:00:00.000Z/,
  );

  const changedForm = await owner.submit(path, { name: 'mine', reviewed_at: '2028-02-29' });
  const emptiedForm = await owner.submit(path, { name: 'mine', reviewed_at: '' });
  expect([changedForm.status, emptiedForm.status]).toEqual([303, 303]);
  const entries = await queryRows<{ changes: Record<string, unknown> }>(
    database.ownerUrl,
    "SELECT changes FROM activity WHERE action IN ('key.created', 'key.changed') ORDER BY id DESC LIMIT 3",
  );
  expect(entries.reverse().map(({ changes }) => changes['reviewed_at'])).toEqual([
    [null, REVIEWED],
    [REVIEWED, '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', null],
  ]);
  const openApi = await owner.get('/v1/openapi.json');
  expect(openApi.text).toContain('"reviewed_at"');
});
