import { catalogueEntities } from '#product/catalogue';
import { migrationDataSource } from '#inside/platform/database/data-source';
import { administer } from '../../support/postgres';
import { CatalogueFixture } from './catalogue-fixture';
import { priceRates } from '#product/kernel';

let fixture: CatalogueFixture;
let priceId: number;
beforeAll(async () => {
  fixture = await CatalogueFixture.open();
  await fixture.models('priced');
  const price = await fixture.write((tx) =>
    fixture.prices.addPrice(tx, { model: 'priced', rates: priceRates({ input: 5n }), source: 'test' }),
  );
  priceId = price.id;
});
afterAll(() => fixture.close());

test('entities match the migrated schema, including every constraint', async () => {
  const source = await migrationDataSource(fixture.test.ownerUrl, [], catalogueEntities).initialize();
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  } finally {
    await source.destroy();
  }
});

describe('An immutable price', () => {
  const attempts = [
    'UPDATE price SET input = 1',
    'DELETE FROM price',
    'TRUNCATE price CASCADE',
    'INSERT INTO price (id, model_id, input, output, source) SELECT id, model_id, 1, 1, source FROM price ON CONFLICT (id) DO UPDATE SET input = 1',
  ];

  test.each(attempts)('cannot be changed by the table owner: %s', async (statement) => {
    await expect(administer(fixture.test.ownerUrl, statement)).rejects.toMatchObject({
      code: '23001',
      constraint: 'price_is_immutable',
    });
    expect((await fixture.snapshot()).price(priceId)?.rates.input).toBe(5n);
  });

  test.each(attempts)(
    'cannot be changed by the service login, which has no permission: %s',
    async (statement) => {
      await expect(fixture.database.query(statement)).rejects.toMatchObject({ code: '42501' });
    },
  );
});

test('the service login cannot delete a model or lower the revision', async () => {
  for (const statement of [
    'DELETE FROM model',
    'DELETE FROM lane',
    'UPDATE catalogue_revision SET revision = 1',
  ]) {
    await expect(fixture.database.query(statement)).rejects.toMatchObject({ code: '42501' });
  }
});
