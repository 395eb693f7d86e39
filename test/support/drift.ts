import { type Entity, migrationDataSource } from '#inside/platform/database/data-source';
import { createTestDatabase } from './postgres';

/** Ignored: the migrations own checks, keys and indexes, which entities do not declare. */
const migrationOnlyChange = /\bDROP (?:CONSTRAINT|INDEX)\b/;

/** Returns the statements TypeORM would run to bring a migrated database in line with the entities. */
export async function findDrift(entities: readonly Entity[]): Promise<string[]> {
  const database = await createTestDatabase();
  try {
    const source = await migrationDataSource(database.ownerUrl, [], entities).initialize();
    try {
      const { upQueries } = await source.driver.createSchemaBuilder().log();
      return upQueries.map(({ query }) => query).filter((query) => !migrationOnlyChange.test(query));
    } finally {
      await source.destroy();
    }
  } finally {
    await database.drop();
  }
}

export async function assertNoDrift(entities: readonly Entity[]): Promise<void> {
  expect(await findDrift(entities)).toEqual([]);
}
