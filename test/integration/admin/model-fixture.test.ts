import { CatalogueService } from '#product/catalogue';
import { addCustomer } from '../../support/customer';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { sendRaw } from '../web/raw-exchange';
import { AdminHouse } from './admin-fixture';

let serviceFixture: AdminHouse;
let supplier: ScriptedSupplier;

beforeAll(async () => {
  serviceFixture = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  supplier = await ScriptedSupplier.start();
  await serviceFixture.admin.post('/dashboard/admin/providers', {
    name: 'first',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: 'sk-secret-0123456789',
  });
});
afterAll(async () => {
  await serviceFixture.close();
  await supplier.stop();
});

const lane = (provider: string) => ({ provider, upstream_model: 'their-model', region: 'eu' });
const createModel = async (model: string, extraFields: object = {}): Promise<void> => {
  const createResponse = await serviceFixture.admin.post('/dashboard/admin/models/create', {
    model,
    kind: 'chat',
    owned_by: 'tests',
    lanes: [lane('first')],
    input_price: '1',
    output_price: 2,
    ...extraFields,
  });
  expect(createResponse).toMatchObject({ status: 200 });
};
const reloadCatalogue = () => serviceFixture.app.application.get(CatalogueService).reload();

test('the model fixture is never called after any change, and its repair logs the changes it reverts', async () => {
  const ensure = () => serviceFixture.admin.post('/admin/models/never/ensure-admin-fixture', {});
  const postAction = async (path: string, body: object): Promise<void> =>
    expect(await serviceFixture.admin.post(path, { model: 'never', ...body })).toMatchObject({ status: 200 });
  await createModel('answering');
  await ensure();
  await postAction('/dashboard/admin/models/update', {
    lanes: [lane('first')],
    restricted: false,
    owned_by: 'someone',
    overflow_to: 'answering',
  });
  await postAction('/dashboard/admin/model-prices/update', { input_price: 1, output_price: 2 });
  await postAction('/dashboard/admin/model-prices/state', { state: 'active' });
  await postAction('/dashboard/admin/models/add-alias', { alias: 'never-again' });
  const customer = await addCustomer(serviceFixture.app, 'fixture-caller', 1_000_000_000n);
  const call = async (model: string) => {
    await reloadCatalogue();
    const { status, body } = await sendRaw(serviceFixture.app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'ping' }] }),
    });
    return [status, JSON.parse(body) as unknown];
  };
  const expectedRefusal = [404, { error: expect.objectContaining({ code: 'model_not_configured' }) }];
  expect([await call('never'), await call('never-again')]).toEqual([expectedRefusal, expectedRefusal]);
  await postAction('/dashboard/admin/model-prices/redirect', { redirect_to: 'answering' });
  expect([await call('never'), await call('never-again')]).toEqual([expectedRefusal, expectedRefusal]);
  expect((await ensure()).json).toMatchObject({
    result: 'repaired',
    state: 'hidden',
    owned_by: 'admin-fixture',
    redirect_to: null,
    overflow_to: null,
    lanes: [],
  });
  const [repair] = await serviceFixture.entries('model.changed');
  expect(repair?.changes).toEqual({
    state: ['active', 'hidden'],
    owned_by: ['someone', 'admin-fixture'],
    restricted: [false, true],
    redirect_to: ['answering', null],
    overflow_to: ['answering', null],
    lanes: [['first their-model eu ×1'], []],
  });
  expect((await ensure()).json).toMatchObject({ result: 'unchanged' });
  const redirectResponse = await serviceFixture.admin.post('/dashboard/admin/model-prices/redirect', {
    model: 'answering',
    redirect_to: 'never',
  });
  expect(redirectResponse).toMatchObject({
    status: 409,
    json: { code: 'alias_redirect_conflict', param: 'redirect_to' },
  });
});

test('a redirect to a model of another kind is refused, as is a kind change that would create such a redirect', async () => {
  await createModel('spoken');
  await createModel('spoken-too');
  await createModel('measured', { kind: 'embedding' });
  const kindConflict = { status: 409, json: { code: 'alias_redirect_conflict', param: 'redirect_to' } };
  const redirect = (model: string, target: string | null) =>
    serviceFixture.admin.post('/dashboard/admin/model-prices/redirect', { model, redirect_to: target });
  const kind = (model: string, wanted: string) =>
    serviceFixture.admin.post('/dashboard/admin/models/update', { model, kind: wanted });
  expect(await redirect('spoken', 'measured')).toMatchObject(kindConflict);
  expect(await redirect('measured', 'spoken')).toMatchObject(kindConflict);
  expect(await redirect('spoken', 'spoken-too')).toMatchObject({ status: 200 });
  expect(await kind('spoken', 'embedding')).toMatchObject(kindConflict);
  expect(await kind('spoken-too', 'embedding')).toMatchObject(kindConflict);
  expect(await redirect('spoken', null)).toMatchObject({ status: 200 });
  expect(await kind('spoken-too', 'embedding')).toMatchObject({ status: 200 });
});
