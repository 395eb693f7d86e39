import { CatalogueService } from '#product/catalogue';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { addCustomer } from '../../support/customer';
import { sendRaw } from '../web/raw-exchange';
import { AdminHouse, chatAnswer, type Json } from './admin-fixture';

let serviceFixture: AdminHouse;
let supplier: ScriptedSupplier;
let providerId: number;

const SECRET = 'sk-very-secret-0123456789';

beforeAll(async () => {
  serviceFixture = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  supplier = await ScriptedSupplier.start();
  supplier.answer = { body: chatAnswer };
  const createResponse = await serviceFixture.admin.post('/dashboard/admin/providers', {
    name: 'first',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  expect(createResponse.status).toBe(200);
  providerId = createResponse.json['id'] as number;
});
afterAll(async () => {
  await serviceFixture.close();
  await supplier.stop();
});

const lane = (provider: string) => ({ provider, upstream_model: 'their-model', region: 'eu' });
const makeModel = async (model: string, extraFields: object = {}): Promise<Json> => {
  const { status, json } = await serviceFixture.admin.post('/dashboard/admin/models/create', {
    model,
    kind: 'chat',
    owned_by: 'tests',
    lanes: [lane('first')],
    input_price: '1',
    output_price: 2,
    ...extraFields,
  });
  expect({ status, json }).toMatchObject({ status: 200 });
  return json;
};
const reloadCatalogue = () => serviceFixture.app.application.get(CatalogueService).reload();

test('a new model with lanes and prices is served immediately, and every change is in the audit log', async () => {
  await makeModel('served');
  const customer = await addCustomer(serviceFixture.app, 'caller', 1_000_000_000n);
  await reloadCatalogue();
  const answer = await sendRaw(serviceFixture.app.url, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'served', messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(answer.status).toBe(200);
  const [entry] = await serviceFixture.entries('model.price-changed');
  expect(entry).toMatchObject({ object_label: 'served', changes: { input_price: [null, '1'] } });
});

test('secrets can be stored but are never returned', async () => {
  const updateResponse = await serviceFixture.admin.post(`/dashboard/admin/providers/${providerId}/update`, {
    secret: SECRET,
  });
  expect(updateResponse.json).toMatchObject({ secrets: [{ label: 'portal', last4: '6789', fits: true }] });
  expect(JSON.stringify(updateResponse.json)).not.toContain(SECRET);
  expect(JSON.stringify(await serviceFixture.app.database.query('SELECT * FROM activity'))).not.toContain(
    SECRET,
  );
  expect(serviceFixture.app.log.join('')).not.toContain(SECRET);
});

test('an update with a stale version returns a conflict and writes nothing', async () => {
  const { version } = await makeModel('stale');
  const first = await serviceFixture.admin.post('/dashboard/admin/models/update', {
    model: 'stale',
    display_name: 'One',
    version,
  });
  expect(first.status).toBe(200);
  const second = await serviceFixture.admin.post('/dashboard/admin/models/update', {
    model: 'stale',
    display_name: 'Two',
    version,
  });
  expect(second).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const now = await serviceFixture.admin.post('/dashboard/admin/models/update', { model: 'stale' });
  expect(now.json).toMatchObject({ display_name: 'One' });
  expect(await serviceFixture.entries('model.changed')).toHaveLength(1);
});

test('the three routes that set prices share one version history and detect stale versions', async () => {
  await makeModel('priced');
  const routes = ['prices', 'model-prices/update', 'models/update'];
  for (const [index, route] of routes.entries()) {
    const updateResponse = await serviceFixture.admin.post(`/dashboard/admin/${route}`, {
      model: 'priced',
      input_price: index + 2,
    });
    expect(updateResponse.json).toMatchObject({ price: { input_price: index + 2, output_price: 2 } });
  }
  const rows = await serviceFixture.app.database.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM price p JOIN model m ON m.id = p.model_id WHERE m.name = 'priced'`,
  );
  expect(rows[0]?.count).toBe(4);
  const repeatedUpdate = await serviceFixture.admin.post('/dashboard/admin/prices', {
    model: 'priced',
    input_price: '4',
  });
  const { price_id: shown } = repeatedUpdate.json['price'] as { price_id: number };
  await serviceFixture.admin.post('/dashboard/admin/prices', { model: 'priced', output_price: '9' });
  const staleUpdate = await serviceFixture.admin.post('/dashboard/admin/prices', {
    model: 'priced',
    output_price: '8',
    price_id: shown,
  });
  expect(staleUpdate).toMatchObject({ status: 409, json: { code: 'conflict' } });
});

test('price schedules are created, listed, refused when they overlap, and removed', async () => {
  await makeModel('scheduled');
  const path = '/dashboard/admin/models/scheduled/price-schedule';
  const span = { starts_at: '2030-01-01T00:00:00Z', ends_at: '2030-02-01T00:00:00Z' };
  const createResponse = await serviceFixture.admin.post(path, { ...span, input_price: '0.5' });
  expect(createResponse.json).toMatchObject({
    price: { input_price: 0.5, output_price: 2, valid_from: null },
  });
  expect(await serviceFixture.admin.post(path, { ...span, input_price: '0.6' })).toMatchObject({
    status: 409,
  });
  const overlapResponse = await serviceFixture.admin.post(path, {
    starts_at: '2020-01-01T00:00:00Z',
    ends_at: '2029-01-01T00:00:00Z',
    input_price: '0.7',
  });
  expect(await serviceFixture.admin.get(path)).toMatchObject({
    json: {
      active: { id: overlapResponse.json['id'] },
      schedules: [{ id: overlapResponse.json['id'] }, { id: createResponse.json['id'] }],
    },
  });
  expect(await serviceFixture.admin.delete(`${path}/${String(createResponse.json['id'])}`)).toMatchObject({
    status: 200,
  });
  expect(await serviceFixture.admin.delete(`${path}/${String(createResponse.json['id'])}`)).toMatchObject({
    status: 404,
  });
  expect(await serviceFixture.admin.post(path, { starts_at: 'soon' })).toMatchObject({ status: 422 });
});

test('model states and deletion work, and redirect loops and alias conflicts are refused', async () => {
  await makeModel('one');
  await makeModel('two');
  const { admin } = serviceFixture;
  for (const state of ['paused', 'hidden', 'deleted', 'active'])
    expect(await admin.post('/dashboard/admin/model-prices/state', { model: 'one', state })).toMatchObject({
      json: { state },
    });
  expect(await admin.post('/dashboard/admin/model-prices/state', { model: 'one', state: 'x' })).toMatchObject(
    {
      status: 422,
    },
  );
  const redirect = (model: string, to: string | null) =>
    admin.post('/dashboard/admin/model-prices/redirect', { model, redirect_to: to });
  expect(await redirect('one', 'two')).toMatchObject({ json: { redirect_to: 'two' } });
  expect(await redirect('two', 'one')).toMatchObject({
    status: 409,
    json: { code: 'alias_redirect_conflict' },
  });
  expect(await redirect('one', null)).toMatchObject({ json: { redirect_to: null } });

  const add = (path: string, alias: string, model: string) => admin.post(path, { alias, model });
  expect(await add('/dashboard/admin/models/add-alias', 'uno', 'one')).toMatchObject({ status: 200 });
  expect(await add('/dashboard/admin/model-aliases', 'uno', 'two')).toMatchObject({
    status: 409,
    json: { code: 'alias_redirect_conflict' },
  });
  expect(await add('/dashboard/admin/model-aliases', 'two', 'one')).toMatchObject({ status: 409 });
  expect(await add('/dashboard/admin/model-aliases', 'team/uno', 'two')).toMatchObject({ status: 200 });
  const list = await admin.get('/dashboard/admin/model-aliases');
  expect(list.json['data']).toEqual(
    expect.arrayContaining([expect.objectContaining({ alias: 'team/uno', model: 'two' })]),
  );
  expect(await admin.delete('/dashboard/admin/model-aliases/team%2Funo')).toMatchObject({ status: 200 });
  expect(await admin.post('/dashboard/admin/models/remove-alias', { alias: 'uno' })).toMatchObject({
    status: 200,
  });
  expect(await admin.post('/dashboard/admin/models/remove-alias', { alias: 'uno' })).toMatchObject({
    status: 404,
  });
  expect(await admin.post('/dashboard/admin/model-prices/delete', { model: 'one' })).toMatchObject({
    json: { state: 'deleted' },
  });
});

test('models are reordered by list, by step and by position', async () => {
  for (const model of ['order-a', 'order-b', 'order-c']) await makeModel(model);
  const reorder = (body: object) => serviceFixture.admin.post('/dashboard/admin/models/reorder', body);
  const order = async () =>
    (
      await serviceFixture.app.database.query<{ name: string }>(
        `SELECT name FROM model WHERE name LIKE 'order-%' ORDER BY display_order, name`,
      )
    ).map(({ name }) => name);
  await reorder({ order: ['order-c', 'order-a', 'order-b'] });
  expect(await order()).toEqual(['order-c', 'order-a', 'order-b']);
  await reorder({ model: 'order-b', move: 'up' });
  expect(await order()).toEqual(['order-c', 'order-b', 'order-a']);
  await reorder({ model: 'order-a', position: 1 });
  expect(await order()).toEqual(['order-a', 'order-c', 'order-b']);
  expect(await reorder({ order: ['order-a', 'order-a'] })).toMatchObject({ status: 422 });
  expect(await reorder({ order: ['no-such-model'] })).toMatchObject({ status: 404 });
  expect(await reorder({})).toMatchObject({ status: 422 });
});

test('the model fixture is created, repaired and never called, and a real model never becomes a fixture', async () => {
  const ensure = (model: string) =>
    serviceFixture.admin.post(`/admin/models/${model}/ensure-admin-fixture`, {});
  expect((await ensure('fixture')).json).toMatchObject({ result: 'created', state: 'hidden', lanes: [] });
  expect((await ensure('fixture')).json).toMatchObject({ result: 'unchanged' });
  await serviceFixture.admin.post('/dashboard/admin/model-prices/state', {
    model: 'fixture',
    state: 'active',
  });
  await serviceFixture.admin.post('/dashboard/admin/models/update', {
    model: 'fixture',
    lanes: [lane('first')],
  });
  expect((await ensure('fixture')).json).toMatchObject({ result: 'repaired', state: 'hidden', lanes: [] });
  await makeModel('real');
  expect(await ensure('real')).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const included = await serviceFixture.admin.post('/admin/models/real/replay-inclusion', { included: true });
  expect(included.json).toMatchObject({ replay_included: true });
});

test('hiding a provider moves its models to their backups, and showing it restores the chain', async () => {
  const second = await serviceFixture.admin.post('/dashboard/admin/providers', {
    name: 'second',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  const id = second.json['id'] as number;
  await makeModel('chained', { lanes: [lane('second'), lane('first')] });
  await makeModel('lonely', { lanes: [lane('second')] });
  const chain = async (): Promise<string[]> => {
    await reloadCatalogue();
    const model = serviceFixture.app.application.get(CatalogueService).snapshot.model('chained');
    return model?.lanes.map(({ provider }) => provider.name) ?? [];
  };
  expect(
    (await serviceFixture.admin.get(`/dashboard/admin/providers/${id}/visibility-info`)).json,
  ).toMatchObject({
    models: 2,
    moves_to_backup: 1,
    without_backup: 1,
    without_backup_models: ['lonely'],
  });
  expect(await chain()).toEqual(['second', 'first']);
  await serviceFixture.admin.post(`/dashboard/admin/providers/${id}/visibility`, { visible: false });
  expect(await chain()).toEqual(['first']);
  await serviceFixture.admin.post(`/dashboard/admin/providers/${id}/visibility`, { visible: true });
  expect(await chain()).toEqual(['second', 'first']);
  const removalResponse = await serviceFixture.admin.post(`/dashboard/admin/providers/${id}/delete`, {});
  expect(removalResponse).toMatchObject({ status: 409, json: { code: 'conflict' } });
  for (const model of ['chained', 'lonely'])
    await serviceFixture.admin.post('/dashboard/admin/models/update', { model, lanes: [lane('first')] });
  expect(await serviceFixture.admin.post(`/dashboard/admin/providers/${id}/delete`, {})).toMatchObject({
    status: 200,
  });
});

test('models defined in the gateway file cannot be edited on pages, except for their state', async () => {
  await makeModel('kept');
  await serviceFixture.app.database.query(`UPDATE model SET managed = true WHERE name = 'kept'`);
  const changeResponse = await serviceFixture.admin.post('/dashboard/admin/models/update', {
    model: 'kept',
    display_name: 'x',
  });
  expect(changeResponse).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(
    await serviceFixture.admin.post('/dashboard/admin/prices', { model: 'kept', input_price: '7' }),
  ).toMatchObject({ status: 409 });
  for (const state of ['paused', 'deleted', 'active']) {
    const stateResponse = await serviceFixture.admin.post('/dashboard/admin/model-prices/state', {
      model: 'kept',
      state,
    });
    expect([state, stateResponse.status]).toEqual([state, 200]);
  }
});

test('only platform administrators change the catalogue, and omitted fields stay unchanged', async () => {
  const owner = await serviceFixture.visitor('org_owner', await serviceFixture.organisation('outsiders'));
  const paths = [
    '/dashboard/admin/models/update',
    '/dashboard/admin/prices',
    '/dashboard/admin/providers',
    '/dashboard/admin/providers/test',
    '/dashboard/admin/models/reorder',
    '/dashboard/admin/api/model-org-access',
    '/admin/models/served/ensure-admin-fixture',
  ];
  for (const path of paths)
    expect(await owner.post(path, {})).toMatchObject({ status: 403, json: { code: 'permission_denied' } });
  for (const field of ['managed', 'id', 'role', '__proto__x'])
    expect(
      await serviceFixture.admin.post('/dashboard/admin/models/update', { model: 'served', [field]: true }),
    ).toMatchObject({ status: 422 });
});

test('page forms redirect back with a notice, and are shown again when refused', async () => {
  const returnPath = '/dashboard/admin/models?tab=models&q=served';
  const validResponse = await serviceFixture.admin.form('/dashboard/admin/model-prices/state', {
    model: 'served',
    state: 'paused',
    back: returnPath,
  });
  expect([validResponse.status, validResponse.headers['location']]).toEqual([303, returnPath]);
  const invalidResponse = await serviceFixture.admin.form('/dashboard/admin/model-prices/state', {
    model: 'absent',
    state: 'paused',
    back: returnPath,
    _page: returnPath,
  });
  expect(invalidResponse.status).toBe(404);
  expect(invalidResponse.body).toContain('class="banner banner-bad" role="alert"');
  const foreignRedirect = await serviceFixture.admin.form('/dashboard/admin/model-prices/state', {
    model: 'served',
    state: 'active',
    back: 'https://elsewhere.example/',
  });
  expect(foreignRedirect.headers['location']).toBe('/dashboard/admin/models');
});
