import { AdminHouse } from './admin-fixture';

let fixture: AdminHouse;
beforeAll(async () => {
  fixture = await AdminHouse.open();
});
afterAll(() => fixture.close());

test('an edited schedule keeps its own rates, and a schedule without start or with half a price is refused', async () => {
  await fixture.admin.post('/dashboard/admin/models/create', {
    model: 'edited',
    kind: 'chat',
    owned_by: 'tests',
    input_price: '1',
    output_price: '2',
  });
  const path = '/dashboard/admin/models/edited/price-schedule';
  const createResponse = await fixture.admin.post(path, {
    starts_at: '2030-01-01T00:00:00Z',
    input_price: '0.5',
  });
  const editResponse = await fixture.admin.post(path, { id: createResponse.json['id'], output_price: '6' });
  expect(editResponse.json).toMatchObject({ price: { input_price: 0.5, output_price: 6 } });
  for (const starts_at of [null, ''])
    expect(await fixture.admin.post(path, { starts_at, input_price: '0.5' })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ['body', 'starts_at'] }] },
    });

  await fixture.admin.post('/dashboard/admin/models/create', {
    model: 'bare',
    kind: 'chat',
    owned_by: 'tests',
  });
  const halfPriceResponse = await fixture.admin.post('/dashboard/admin/models/bare/price-schedule', {
    starts_at: '2030-01-01T00:00:00Z',
    output_price: '6',
  });
  expect(halfPriceResponse).toMatchObject({ status: 422, json: { code: 'validation_error' } });
});
