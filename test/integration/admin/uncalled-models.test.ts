import { CatalogueService } from '#product/catalogue';
import { addCustomer } from '../../support/customer';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { ask } from '../web/raw-exchange';
import { AdminHouse } from './admin-house';

let house: AdminHouse;
let supplier: ScriptedSupplier;

beforeAll(async () => {
  house = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  supplier = await ScriptedSupplier.start();
  await house.admin.post('/dashboard/admin/providers', {
    name: 'first',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: 'sk-secret-0123456789',
  });
});
afterAll(async () => {
  await house.close();
  await supplier.stop();
});

const lane = (provider: string) => ({ provider, upstream_model: 'their-model', region: 'eu' });
const makeModel = async (model: string, more: object = {}): Promise<void> => {
  const made = await house.admin.post('/dashboard/admin/models/create', {
    model,
    kind: 'chat',
    owned_by: 'tests',
    lanes: [lane('first')],
    input_price: '1',
    output_price: 2,
    ...more,
  });
  expect(made).toMatchObject({ status: 200 });
};
const newest = () => house.app.application.get(CatalogueService).reload();

test('the fixture is not called, whatever is done to it, and its repair records what it undoes', async () => {
  const ensure = () => house.admin.post('/admin/models/never/ensure-admin-fixture', {});
  const act = async (path: string, body: object): Promise<void> =>
    expect(await house.admin.post(path, { model: 'never', ...body })).toMatchObject({ status: 200 });
  await makeModel('answering');
  await ensure();
  await act('/dashboard/admin/models/update', {
    lanes: [lane('first')],
    restricted: false,
    owned_by: 'someone',
    overflow_to: 'answering',
  });
  await act('/dashboard/admin/model-prices/update', { input_price: 1, output_price: 2 });
  await act('/dashboard/admin/model-prices/state', { state: 'active' });
  await act('/dashboard/admin/models/add-alias', { alias: 'never-again' });
  const customer = await addCustomer(house.app, 'fixture-caller', 1_000_000_000n);
  const call = async (model: string) => {
    await newest();
    const { status, body } = await ask(house.app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'ping' }] }),
    });
    return [status, JSON.parse(body) as unknown];
  };
  const refused = [404, { error: expect.objectContaining({ code: 'model_not_configured' }) }];
  expect([await call('never'), await call('never-again')]).toEqual([refused, refused]);
  await act('/dashboard/admin/model-prices/redirect', { redirect_to: 'answering' });
  expect([await call('never'), await call('never-again')]).toEqual([refused, refused]);
  expect((await ensure()).json).toMatchObject({
    result: 'repaired',
    state: 'hidden',
    owned_by: 'admin-fixture',
    redirect_to: null,
    overflow_to: null,
    lanes: [],
  });
  const [repair] = await house.entries('model.changed');
  expect(repair?.changes).toEqual({
    state: ['active', 'hidden'],
    owned_by: ['someone', 'admin-fixture'],
    restricted: [false, true],
    redirect_to: ['answering', null],
    overflow_to: ['answering', null],
    lanes: [['first their-model eu ×1'], []],
  });
  expect((await ensure()).json).toMatchObject({ result: 'unchanged' });
  const away = await house.admin.post('/dashboard/admin/model-prices/redirect', {
    model: 'answering',
    redirect_to: 'never',
  });
  expect(away).toMatchObject({
    status: 409,
    json: { code: 'alias_redirect_conflict', param: 'redirect_to' },
  });
});

test('a redirect to a model of another kind is refused, as is a kind that one would lead across', async () => {
  await makeModel('spoken');
  await makeModel('spoken-too');
  await makeModel('measured', { kind: 'embedding' });
  const across = { status: 409, json: { code: 'alias_redirect_conflict', param: 'redirect_to' } };
  const redirect = (model: string, target: string | null) =>
    house.admin.post('/dashboard/admin/model-prices/redirect', { model, redirect_to: target });
  const kind = (model: string, wanted: string) =>
    house.admin.post('/dashboard/admin/models/update', { model, kind: wanted });
  expect(await redirect('spoken', 'measured')).toMatchObject(across);
  expect(await redirect('measured', 'spoken')).toMatchObject(across);
  expect(await redirect('spoken', 'spoken-too')).toMatchObject({ status: 200 });
  expect(await kind('spoken', 'embedding')).toMatchObject(across);
  expect(await kind('spoken-too', 'embedding')).toMatchObject(across);
  expect(await redirect('spoken', null)).toMatchObject({ status: 200 });
  expect(await kind('spoken-too', 'embedding')).toMatchObject({ status: 200 });
});
