import { type Entity, migrationDataSource } from '#inside/platform/database/data-source';
import { createTestDatabase } from './postgres';

/** The database may guard more than the entities know of: checks, keys and indexes are the migrations' own. */
const guard = /\bDROP (?:CONSTRAINT|INDEX)\b/;

/** TypeORM would make these changes so that a migrated database holds all the entities say. */
export async function driftOf(entities: readonly Entity[]): Promise<string[]> {
  const database = await createTestDatabase();
  try {
    const source = await migrationDataSource(database.ownerUrl, [], entities).initialize();
    try {
      const { upQueries } = await source.driver.createSchemaBuilder().log();
      return upQueries.map(({ query }) => query).filter((query) => !guard.test(query));
    } finally {
      await source.destroy();
    }
  } finally {
    await database.drop();
  }
}

export async function assertNoDrift(entities: readonly Entity[]): Promise<void> {
  expect(await driftOf(entities)).toEqual([]);
}
