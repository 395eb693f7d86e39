import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase } from '../../support/postgres';
import { tablesText } from '../../support/tables';

const file = join(__dirname, '..', '..', '..', 'migrations', 'tables.ts');

test('what the compiler knows of the tables is what migrations leave', async () => {
  const database = await createTestDatabase();
  try {
    const text = await tablesText(database.ownerUrl);
    if (process.env['WRITE_TABLES'] === '1') writeFileSync(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  } finally {
    await database.drop();
  }
});
