import { AdminHouse } from './admin-house';

let house: AdminHouse;
beforeAll(async () => {
  house = await AdminHouse.open();
});
afterAll(() => house.close());

test('a schedule that is edited keeps its own rates; none starts at no time, and none is half of a price', async () => {
  await house.admin.post('/dashboard/admin/models/create', {
    model: 'edited',
    kind: 'chat',
    owned_by: 'tests',
    input_price: '1',
    output_price: '2',
  });
  const path = '/dashboard/admin/models/edited/price-schedule';
  const made = await house.admin.post(path, { starts_at: '2030-01-01T00:00:00Z', input_price: '0.5' });
  const edited = await house.admin.post(path, { id: made.json['id'], output_price: '6' });
  expect(edited.json).toMatchObject({ price: { input_price: 0.5, output_price: 6 } });
  for (const starts_at of [null, ''])
    expect(await house.admin.post(path, { starts_at, input_price: '0.5' })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ['body', 'starts_at'] }] },
    });

  await house.admin.post('/dashboard/admin/models/create', {
    model: 'bare',
    kind: 'chat',
    owned_by: 'tests',
  });
  const half = await house.admin.post('/dashboard/admin/models/bare/price-schedule', {
    starts_at: '2030-01-01T00:00:00Z',
    output_price: '6',
  });
  expect(half).toMatchObject({ status: 422, json: { code: 'validation_error' } });
});
