import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { Program } from '../../system/program';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await administer(database.ownerUrl, "DELETE FROM migrations WHERE name LIKE 'CreateQuarantine%'");
});
afterAll(() => database.drop());

test('a failing migration ends the start with one line that names it and the reason', async () => {
  const { code, text } = await Program.node('bundle/main.js', [], {
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
    SANDBOX: 'off',
    DATA_FOLDER: makeScratchFolder('switchboard-refused-migration-'),
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: database.ownerUrl,
  }).finish(120_000);
  expect([code, text]).toEqual([
    1,
    'The migration CreateQuarantine1764900005100 failed: relation "quarantine" already exists\n',
  ]);
}, 180_000);
