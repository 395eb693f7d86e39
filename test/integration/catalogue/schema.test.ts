import { catalogueEntities } from '#product/catalogue';
import { migrationDataSource } from '#inside/platform/database/data-source';
import { administer } from '../../support/postgres';
import { CatalogueHouse } from './catalogue-house';
import { priceRates } from '#product/kernel';

let house: CatalogueHouse;
let priceId: number;
beforeAll(async () => {
  house = await CatalogueHouse.open();
  await house.models('priced');
  const price = await house.write((tx) =>
    house.prices.addPrice(tx, { model: 'priced', rates: priceRates({ input: 5n }), source: 'test' }),
  );
  priceId = price.id;
});
afterAll(() => house.close());

test('the entities say what the migration made, down to every constraint', async () => {
  const source = await migrationDataSource(house.test.ownerUrl, [], catalogueEntities).initialize();
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  } finally {
    await source.destroy();
  }
});

describe('a price is never changed', () => {
  const attempts = [
    'UPDATE price SET input = 1',
    'DELETE FROM price',
    'TRUNCATE price CASCADE',
    'INSERT INTO price (id, model_id, input, output, source) SELECT id, model_id, 1, 1, source FROM price ON CONFLICT (id) DO UPDATE SET input = 1',
  ];

  test.each(attempts)('by the owner: %s', async (statement) => {
    await expect(administer(house.test.ownerUrl, statement)).rejects.toMatchObject({
      code: '23001',
      constraint: 'price_is_immutable',
    });
    expect((await house.snapshot()).price(priceId)?.rates.input).toBe(5n);
  });

  test.each(attempts)('by the service, which may not even try: %s', async (statement) => {
    await expect(house.database.query(statement)).rejects.toMatchObject({ code: '42501' });
  });
});

test('the service may neither delete a model nor turn the revision back', async () => {
  for (const statement of [
    'DELETE FROM model',
    'DELETE FROM lane',
    'UPDATE catalogue_revision SET revision = 1',
  ]) {
    await expect(house.database.query(statement)).rejects.toMatchObject({ code: '42501' });
  }
});
