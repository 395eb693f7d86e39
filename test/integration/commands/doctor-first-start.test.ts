import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { administer, inDatabase } from '../../support/postgres';
import { CommandHouse } from './command-house';

let house: CommandHouse;
beforeAll(async () => {
  house = await CommandHouse.open();
});
afterAll(() => house.close());

// "a restored folder before its first start is 'quarantine: none is open'".
test('a restored folder before its first start fails the quarantine check', async () => {
  const folder = house.environment['DATA_FOLDER']!;
  const mark = join(folder, 'restored.json');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    mark,
    '{"version":1,"backup":null,"moment":"2026-01-31T12:00:00Z","restoredAt":"2026-01-31T13:00:00Z"}',
  );
  const { code, output } = await house.run(['doctor']);
  rmSync(mark);
  expect(code).toBe(1);
  expect(output).toContain(
    `fail  quarantine: ${folder} was restored to 2026-01-31T12:00:00.000Z: the first start begins its quarantine\n`,
  );
  expect(output).toContain('Start the service, then release it');
});

// "an empty database gives 17 raw SQL errors"; wanted: "failures in words".
test('an empty database is one failure in words', async () => {
  const environment = { ...house.environment };
  const name = `empty_${randomUUID().replaceAll('-', '')}`;
  await administer(house.test.ownerUrl, `CREATE DATABASE ${name}`);
  try {
    house.environment['DATABASE_URL'] = inDatabase(house.test.url, name);
    const { code, output } = await house.run(['doctor']);
    expect(output).toContain('fail  database: has no tables of the service');
    expect(output.match(/^fail/gm)).toHaveLength(1);
    expect(output).not.toMatch(/relation|does not exist|regclass/);
    expect(code).toBe(1);
  } finally {
    Object.assign(house.environment, environment);
    await administer(house.test.ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  }
});

test('an open quarantine fails, with the way to its end', async () => {
  await administer(
    house.test.ownerUrl,
    "INSERT INTO quarantine (moment, restored_at, ended) VALUES ('2026-01-31T12:00Z', now(), '{}')",
  );
  const { code, output } = await house.run(['doctor']);
  expect(code).toBe(1);
  expect(output).toContain(
    'fail  quarantine: restored to 2026-01-31T12:00:00.000Z and not released: nobody is served\n',
  );
  expect(output).toContain('"quarantine show"');
  await administer(house.test.ownerUrl, 'DELETE FROM quarantine');
});
