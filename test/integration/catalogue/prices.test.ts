import { priceRates } from '#product/kernel';
import { CatalogueFixture, errorWithCode } from './catalogue-fixture';

let fixture: CatalogueFixture;
beforeAll(async () => {
  fixture = await CatalogueFixture.open();
  await fixture.provider('north');
  await fixture.models('m', 'n');
});
afterAll(() => fixture.close());

const source = 'test';
const minutesFromNow = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

test('every rate and tier is returned as written', async () => {
  const rates = priceRates({
    input: 1n,
    output: 2n,
    cacheRead: 3n,
    cacheWrite: 4n,
    cacheWriteLong: 5n,
    reasoning: 6n,
    audioInput: 7n,
    audioOutput: 8n,
    image: 9n,
    perCallNano: 10n,
    perMinuteNano: 999_999_999_999_999n,
    tiers: [{ aboveInputTokens: 200_000, input: 100n, image: 900n }],
  });
  const { id } = await fixture.write((tx) => fixture.prices.addPrice(tx, { model: 'm', rates, source }));
  expect((await fixture.snapshot()).price(id)?.rates).toEqual(rates);
});

test('a price change creates a new version and keeps unspecified rates', async () => {
  const rates = priceRates({ input: 10n, output: 20n, cacheRead: 1n, perCallNano: 3n });
  const firstPrice = await fixture.write((tx) => fixture.prices.addPrice(tx, { model: 'm', rates, source }));
  const secondPrice = await fixture.write((tx) =>
    fixture.prices.changePrice(tx, 'm', { output: 25n, input: undefined }, source),
  );
  const snapshot = await fixture.snapshot();
  expect(secondPrice.id).not.toBe(firstPrice.id);
  expect(snapshot.price(firstPrice.id)?.rates).toEqual(rates);
  expect(snapshot.price(secondPrice.id)?.rates).toEqual(priceRates({ ...rates, output: 25n }));
});

test('a price in the past, for a lane of another model, or with invalid rates is refused', async () => {
  const rates = priceRates({});
  const addPrice = (input: object): Promise<unknown> =>
    fixture.write((tx) => fixture.prices.addPrice(tx, { model: 'm', rates, source, ...input }));
  const [lane] = await fixture.write((tx) =>
    fixture.editor.setLanes(tx, 'n', [{ provider: 'north', upstreamModel: 'n', region: 'eu' }]),
  );
  await expect(addPrice({ validFrom: minutesFromNow(-5) })).rejects.toEqual(
    errorWithCode('validation_error'),
  );
  await expect(addPrice({ laneId: lane!.id })).rejects.toEqual(errorWithCode('not_found'));
  await expect(addPrice({ rates: { ...rates, input: -1n } })).rejects.toEqual(
    errorWithCode('validation_error'),
  );
  await expect(addPrice({ model: 'nothing' })).rejects.toEqual(errorWithCode('model_not_found'));
});

describe('Price schedules', () => {
  let priceId: number;
  beforeAll(async () => {
    const rates = priceRates({ input: 77n });
    priceId = (
      await fixture.write((tx) => fixture.prices.addPrice(tx, { model: 'm', rates, validFrom: null, source }))
    ).id;
  });
  const upsert = (input: Parameters<typeof fixture.prices.upsertSchedule>[2]): Promise<{ id: number }> =>
    fixture.write((tx) => fixture.prices.upsertSchedule(tx, 'm', input));

  test('switch at the exact millisecond and end when the next one begins', async () => {
    const [start, middle] = [minutesFromNow(10), minutesFromNow(20)];
    const { id } = await upsert({ priceId, startsAt: start, endsAt: middle });
    await upsert({ priceId, startsAt: middle });
    const model = (await fixture.snapshot()).model('m')!;
    expect(model.schedules.map(({ startsAt, endsAt }) => [startsAt, endsAt])).toEqual([
      [start.getTime(), middle.getTime()],
      [middle.getTime(), null],
    ]);
    await upsert({ id, endsAt: minutesFromNow(15) });
    const changedSchedule = (await fixture.snapshot())
      .model('m')!
      .schedules.find((schedule) => schedule.id === id);
    expect(changedSchedule).toMatchObject({ startsAt: start.getTime(), price: { id: priceId } });
    expect(changedSchedule!.endsAt).toBeLessThan(middle.getTime());
  });

  test('cannot overlap, even when two are created concurrently', async () => {
    await expect(
      upsert({ priceId, startsAt: minutesFromNow(12), endsAt: minutesFromNow(14) }),
    ).rejects.toEqual(errorWithCode('conflict'));
    const concurrentUpserts = [1, 2].map(() =>
      upsert({ priceId, startsAt: minutesFromNow(1), endsAt: minutesFromNow(5) }),
    );
    const outcomes = await Promise.allSettled(concurrentUpserts);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('cannot overlap in the database itself', async () => {
    const insert = `INSERT INTO price_schedule (model_id, price_id, starts_at)
      SELECT model_id, price_id, starts_at FROM price_schedule LIMIT 1`;
    await expect(fixture.database.query(insert)).rejects.toMatchObject({
      code: '23P01',
      constraint: 'price_schedule_alone',
    });
  });

  test('refuse a price of another model, an end before the start and missing fields', async () => {
    const foreignPrice = fixture.write((tx) =>
      fixture.prices.upsertSchedule(tx, 'n', { priceId, startsAt: minutesFromNow(1) }),
    );
    await expect(foreignPrice).rejects.toEqual(errorWithCode('not_found'));
    const invertedPeriod = upsert({ priceId, startsAt: minutesFromNow(9), endsAt: minutesFromNow(8) });
    await expect(invertedPeriod).rejects.toEqual(errorWithCode('validation_error'));
    await expect(upsert({ priceId })).rejects.toEqual(errorWithCode('missing_fields'));
    await expect(upsert({ id: 999_999 })).rejects.toEqual(errorWithCode('not_found'));
  });

  test('can be deleted only through their model', async () => {
    const { id } = (await fixture.snapshot()).model('m')!.schedules[0]!;
    const remove = (model: string): Promise<void> =>
      fixture.write((tx) => fixture.prices.deleteSchedule(tx, model, id));
    await expect(remove('n')).rejects.toEqual(errorWithCode('not_found'));
    await remove('m');
    await expect(remove('m')).rejects.toEqual(errorWithCode('not_found'));
  });
});
