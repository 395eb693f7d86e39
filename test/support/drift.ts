import { type Entity, migrationDataSource } from '../../src/platform/database/data-source';
import { createTestDatabase } from './postgres';

/** What TypeORM would change in a migrated database to make it fit the entities: nothing, as long as both agree. */
export async function driftOf(entities: readonly Entity[]): Promise<string[]> {
  const database = await createTestDatabase();
  try {
    const source = await migrationDataSource(database.ownerUrl, [], entities).initialize();
    try {
      const { upQueries } = await source.driver.createSchemaBuilder().log();
      return upQueries.map(({ query }) => query);
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
