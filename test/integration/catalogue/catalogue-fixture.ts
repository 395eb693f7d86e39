import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { CatalogueEditor, catalogueEntities, PriceService } from '#product/catalogue';
import { type CatalogueSnapshot } from '../../../src/catalogue/snapshot';
import { loadSnapshot } from '#inside/catalogue/snapshot-loader';
import { Database, type Tx } from '#inside/platform/database/index';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** A separate database with the two services that write the catalogue. */
export class CatalogueFixture {
  readonly editor = new CatalogueEditor();
  readonly prices = new PriceService();

  private constructor(
    readonly test: TestDatabase,
    readonly database: Database,
  ) {}

  static async open(): Promise<CatalogueFixture> {
    const testDatabase = await createTestDatabase();
    return new CatalogueFixture(testDatabase, await connect(testDatabase.url));
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  snapshot(): Promise<CatalogueSnapshot> {
    return loadSnapshot(this.database);
  }

  /** Adds a provider without credentials. */
  provider(name: string, regions: string[] = []): Promise<{ id: number }> {
    return this.write((tx) =>
      this.editor.upsertProvider(tx, {
        name,
        style: 'openai-style',
        baseUrl: `https://${name}.example/v1`,
        regions,
      }),
    );
  }

  /** Adds chat models without lanes. */
  async models(...names: string[]): Promise<void> {
    await this.write(async (tx) => {
      for (const name of names)
        await this.editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'somebody' });
    });
  }

  async close(): Promise<void> {
    await this.database.source.destroy();
    await this.test.drop();
  }
}

export async function connect(url: string): Promise<Database> {
  const source = new DataSource(serviceDataSourceOptions({ url, entities: catalogueEntities, poolSize: 4 }));
  return new Database(await source.initialize());
}

export const errorWithCode = (code: string): object => expect.objectContaining({ code }) as object;
