import { priceRates } from '#product/kernel';
import { CatalogueHouse, refusal } from './catalogue-house';

let house: CatalogueHouse;
beforeAll(async () => {
  house = await CatalogueHouse.open();
  await house.provider('north');
  await house.models('m', 'n');
});
afterAll(() => house.close());

const source = 'test';
const inFuture = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

test('every rate and tier comes back as it was written', async () => {
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
  const { id } = await house.write((tx) => house.prices.addPrice(tx, { model: 'm', rates, source }));
  expect((await house.snapshot()).price(id)?.rates).toEqual(rates);
});

test('a change keeps the rates that it does not name, as a version of its own', async () => {
  const rates = priceRates({ input: 10n, output: 20n, cacheRead: 1n, perCallNano: 3n });
  const first = await house.write((tx) => house.prices.addPrice(tx, { model: 'm', rates, source }));
  const second = await house.write((tx) =>
    house.prices.changePrice(tx, 'm', { output: 25n, input: undefined }, source),
  );
  const snapshot = await house.snapshot();
  expect(second.id).not.toBe(first.id);
  expect(snapshot.price(first.id)?.rates).toEqual(rates);
  expect(snapshot.price(second.id)?.rates).toEqual(priceRates({ ...rates, output: 25n }));
});

test('refuses a price from the past, for a foreign lane, and rates that are none', async () => {
  const rates = priceRates({});
  const add = (input: object): Promise<unknown> =>
    house.write((tx) => house.prices.addPrice(tx, { model: 'm', rates, source, ...input }));
  const [lane] = await house.write((tx) =>
    house.editor.setLanes(tx, 'n', [{ provider: 'north', upstreamModel: 'n', region: 'eu' }]),
  );
  await expect(add({ validFrom: inFuture(-5) })).rejects.toEqual(refusal('validation_error'));
  await expect(add({ laneId: lane!.id })).rejects.toEqual(refusal('not_found'));
  await expect(add({ rates: { ...rates, input: -1n } })).rejects.toEqual(refusal('validation_error'));
  await expect(add({ model: 'nothing' })).rejects.toEqual(refusal('model_not_found'));
});

describe('schedules', () => {
  let priceId: number;
  beforeAll(async () => {
    const rates = priceRates({ input: 77n });
    priceId = (
      await house.write((tx) => house.prices.addPrice(tx, { model: 'm', rates, validFrom: null, source }))
    ).id;
  });
  const upsert = (input: Parameters<typeof house.prices.upsertSchedule>[2]): Promise<{ id: number }> =>
    house.write((tx) => house.prices.upsertSchedule(tx, 'm', input));

  test('flip to the millisecond, and end where the next begins', async () => {
    const [start, middle] = [inFuture(10), inFuture(20)];
    const { id } = await upsert({ priceId, startsAt: start, endsAt: middle });
    await upsert({ priceId, startsAt: middle });
    const model = (await house.snapshot()).model('m')!;
    expect(model.schedules.map(({ startsAt, endsAt }) => [startsAt, endsAt])).toEqual([
      [start.getTime(), middle.getTime()],
      [middle.getTime(), null],
    ]);
    await upsert({ id, endsAt: inFuture(15) });
    const changed = (await house.snapshot()).model('m')!.schedules.find((schedule) => schedule.id === id);
    expect(changed).toMatchObject({ startsAt: start.getTime(), price: { id: priceId } });
    expect(changed!.endsAt).toBeLessThan(middle.getTime());
  });

  test('refuse to overlap, also when two are made at once', async () => {
    await expect(upsert({ priceId, startsAt: inFuture(12), endsAt: inFuture(14) })).rejects.toEqual(
      refusal('conflict'),
    );
    const twins = [1, 2].map(() => upsert({ priceId, startsAt: inFuture(1), endsAt: inFuture(5) }));
    const outcomes = await Promise.allSettled(twins);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('the database itself refuses an overlap', async () => {
    const insert = `INSERT INTO price_schedule (model_id, price_id, starts_at)
      SELECT model_id, price_id, starts_at FROM price_schedule LIMIT 1`;
    await expect(house.database.query(insert)).rejects.toMatchObject({
      code: '23P01',
      constraint: 'price_schedule_alone',
    });
  });

  test("refuse another model's price, an end before the start, and half a schedule", async () => {
    const foreign = house.write((tx) =>
      house.prices.upsertSchedule(tx, 'n', { priceId, startsAt: inFuture(1) }),
    );
    await expect(foreign).rejects.toEqual(refusal('not_found'));
    const backwards = upsert({ priceId, startsAt: inFuture(9), endsAt: inFuture(8) });
    await expect(backwards).rejects.toEqual(refusal('validation_error'));
    await expect(upsert({ priceId })).rejects.toEqual(refusal('missing_fields'));
    await expect(upsert({ id: 999_999 })).rejects.toEqual(refusal('not_found'));
  });

  test('are deleted by the model they belong to', async () => {
    const { id } = (await house.snapshot()).model('m')!.schedules[0]!;
    const remove = (model: string): Promise<void> =>
      house.write((tx) => house.prices.deleteSchedule(tx, model, id));
    await expect(remove('n')).rejects.toEqual(refusal('not_found'));
    await remove('m');
    await expect(remove('m')).rejects.toEqual(refusal('not_found'));
  });
});
