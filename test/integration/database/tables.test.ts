import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase } from '../../support/postgres';
import { generateTables } from '../../support/tables';

const file = join(__dirname, '..', '..', '..', 'migrations', 'tables.ts');

test('the generated table types match the migrated schema', async () => {
  const database = await createTestDatabase();
  try {
    const text = await generateTables(database.ownerUrl);
    if (process.env['WRITE_TABLES'] === '1') writeFileSync(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  } finally {
    await database.drop();
  }
});
