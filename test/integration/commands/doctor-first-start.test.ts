import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { administer, inDatabase } from '../../support/postgres';
import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => {
  fixture = await CommandFixture.open();
});
afterAll(() => fixture.close());

// "a restored folder before its first start is 'quarantine: none is open'".
test('a restored folder before its first start fails the quarantine check', async () => {
  const folder = fixture.environment['DATA_FOLDER']!;
  const markerFile = join(folder, 'restored.json');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    markerFile,
    '{"version":1,"backup":null,"moment":"2026-01-31T12:00:00Z","restoredAt":"2026-01-31T13:00:00Z"}',
  );
  const { code, output } = await fixture.run(['doctor']);
  rmSync(markerFile);
  expect(code).toBe(1);
  expect(output).toContain(
    `fail  quarantine: ${folder} was restored to 2026-01-31T12:00:00.000Z: the first start begins its quarantine\n`,
  );
  expect(output).toContain('Start the service, then release it');
});

// "an empty database gives 17 raw SQL errors"; wanted: "failures in words".
test('an empty database is reported as one readable failure', async () => {
  const environment = { ...fixture.environment };
  const name = `empty_${randomUUID().replaceAll('-', '')}`;
  await administer(fixture.test.ownerUrl, `CREATE DATABASE ${name}`);
  try {
    fixture.environment['DATABASE_URL'] = inDatabase(fixture.test.url, name);
    const { code, output } = await fixture.run(['doctor']);
    expect(output).toContain('fail  database: has no tables of the service');
    expect(output.match(/^fail/gm)).toHaveLength(1);
    expect(output).not.toMatch(/relation|does not exist|regclass/);
    expect(code).toBe(1);
  } finally {
    Object.assign(fixture.environment, environment);
    await administer(fixture.test.ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  }
});

test('an open quarantine fails the check and names the command that ends it', async () => {
  await administer(
    fixture.test.ownerUrl,
    "INSERT INTO quarantine (moment, restored_at, ended) VALUES ('2026-01-31T12:00Z', now(), '{}')",
  );
  const { code, output } = await fixture.run(['doctor']);
  expect(code).toBe(1);
  expect(output).toContain(
    'fail  quarantine: restored to 2026-01-31T12:00:00.000Z and not released: nobody is served\n',
  );
  expect(output).toContain('"quarantine show"');
  await administer(fixture.test.ownerUrl, 'DELETE FROM quarantine');
});
