import { CatalogueService } from '#product/catalogue';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { addCustomer } from '../../support/customer';
import { ask } from '../web/raw-exchange';
import { AdminHouse, type Json } from './admin-house';

let house: AdminHouse;
let supplier: ScriptedSupplier;
let providerId: number;

const SECRET = 'sk-very-secret-0123456789';
const chatAnswer = {
  id: 'x',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'pong' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};

beforeAll(async () => {
  house = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  supplier = await ScriptedSupplier.start();
  supplier.answer = { body: chatAnswer };
  const made = await house.admin.post('/dashboard/admin/providers', {
    name: 'first',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  expect(made.status).toBe(200);
  providerId = made.json['id'] as number;
});
afterAll(async () => {
  await house.close();
  await supplier.stop();
});

const lane = (provider: string) => ({ provider, upstream_model: 'their-model', region: 'eu' });
const makeModel = async (model: string, more: object = {}): Promise<Json> => {
  const { status, json } = await house.admin.post('/dashboard/admin/models/create', {
    model,
    kind: 'chat',
    owned_by: 'tests',
    lanes: [lane('first')],
    input_price: '1',
    output_price: 2,
    ...more,
  });
  expect({ status, json }).toMatchObject({ status: 200 });
  return json;
};
const newest = () => house.app.application.get(CatalogueService).reload();

test('a model with lanes and prices is served at once, and every change of it is on record', async () => {
  await makeModel('served');
  const customer = await addCustomer(house.app, 'caller', 1_000_000_000n);
  await newest();
  const answer = await ask(house.app.url, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'served', messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(answer.status).toBe(200);
  const [entry] = await house.entries('model.price-changed');
  expect(entry).toMatchObject({ object_label: 'served', changes: { input_price: [null, '1'] } });
});

test('secrets go in and never come out', async () => {
  const made = await house.admin.post(`/dashboard/admin/providers/${providerId}/update`, { secret: SECRET });
  expect(made.json).toMatchObject({ secrets: [{ label: 'portal', last4: '6789', fits: true }] });
  expect(JSON.stringify(made.json)).not.toContain(SECRET);
  expect(JSON.stringify(await house.app.database.query('SELECT * FROM activity'))).not.toContain(SECRET);
  expect(house.app.log.join('')).not.toContain(SECRET);
});

test('a stale version is a conflict, and nothing is written', async () => {
  const { version } = await makeModel('stale');
  const first = await house.admin.post('/dashboard/admin/models/update', {
    model: 'stale',
    display_name: 'One',
    version,
  });
  expect(first.status).toBe(200);
  const second = await house.admin.post('/dashboard/admin/models/update', {
    model: 'stale',
    display_name: 'Two',
    version,
  });
  expect(second).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const now = await house.admin.post('/dashboard/admin/models/update', { model: 'stale' });
  expect(now.json).toMatchObject({ display_name: 'One' });
  expect(await house.entries('model.changed')).toHaveLength(1);
});

test('the three routes that write prices make versions of one history, and know what was shown', async () => {
  await makeModel('priced');
  const routes = ['prices', 'model-prices/update', 'models/update'];
  for (const [index, route] of routes.entries()) {
    const set = await house.admin.post(`/dashboard/admin/${route}`, {
      model: 'priced',
      input_price: index + 2,
    });
    expect(set.json).toMatchObject({ price: { input_price: index + 2, output_price: 2 } });
  }
  const rows = await house.app.database.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM price p JOIN model m ON m.id = p.model_id WHERE m.name = 'priced'`,
  );
  expect(rows[0]?.count).toBe(4);
  const again = await house.admin.post('/dashboard/admin/prices', { model: 'priced', input_price: '4' });
  const { price_id: shown } = again.json['price'] as { price_id: number };
  await house.admin.post('/dashboard/admin/prices', { model: 'priced', output_price: '9' });
  const late = await house.admin.post('/dashboard/admin/prices', {
    model: 'priced',
    output_price: '8',
    price_id: shown,
  });
  expect(late).toMatchObject({ status: 409, json: { code: 'conflict' } });
});

test('schedules: made of rates, listed, alone in their time, removed', async () => {
  await makeModel('scheduled');
  const path = '/dashboard/admin/models/scheduled/price-schedule';
  const span = { starts_at: '2030-01-01T00:00:00Z', ends_at: '2030-02-01T00:00:00Z' };
  const made = await house.admin.post(path, { ...span, input_price: '0.5' });
  expect(made.json).toMatchObject({ price: { input_price: 0.5, output_price: 2, valid_from: null } });
  expect(await house.admin.post(path, { ...span, input_price: '0.6' })).toMatchObject({ status: 409 });
  const running = await house.admin.post(path, {
    starts_at: '2020-01-01T00:00:00Z',
    ends_at: '2029-01-01T00:00:00Z',
    input_price: '0.7',
  });
  expect(await house.admin.get(path)).toMatchObject({
    json: {
      active: { id: running.json['id'] },
      schedules: [{ id: running.json['id'] }, { id: made.json['id'] }],
    },
  });
  expect(await house.admin.delete(`${path}/${String(made.json['id'])}`)).toMatchObject({ status: 200 });
  expect(await house.admin.delete(`${path}/${String(made.json['id'])}`)).toMatchObject({ status: 404 });
  expect(await house.admin.post(path, { starts_at: 'soon' })).toMatchObject({ status: 422 });
});

test('states, deletion, redirects without circles, aliases without conflicts', async () => {
  await makeModel('one');
  await makeModel('two');
  const { admin } = house;
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

test('the order, by list, by step and by number', async () => {
  for (const model of ['order-a', 'order-b', 'order-c']) await makeModel(model);
  const reorder = (body: object) => house.admin.post('/dashboard/admin/models/reorder', body);
  const order = async () =>
    (
      await house.app.database.query<{ name: string }>(
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

test('the fixture is made, repaired, left alone, and never called; a real model is never turned into one', async () => {
  const ensure = (model: string) => house.admin.post(`/admin/models/${model}/ensure-admin-fixture`, {});
  expect((await ensure('fixture')).json).toMatchObject({ result: 'created', state: 'hidden', lanes: [] });
  expect((await ensure('fixture')).json).toMatchObject({ result: 'unchanged' });
  await house.admin.post('/dashboard/admin/model-prices/state', { model: 'fixture', state: 'active' });
  await house.admin.post('/dashboard/admin/models/update', { model: 'fixture', lanes: [lane('first')] });
  expect((await ensure('fixture')).json).toMatchObject({ result: 'repaired', state: 'hidden', lanes: [] });
  await makeModel('real');
  expect(await ensure('real')).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const included = await house.admin.post('/admin/models/real/replay-inclusion', { included: true });
  expect(included.json).toMatchObject({ replay_included: true });
});

test('hiding a provider moves its models to their backups, and showing it brings the chain back', async () => {
  const second = await house.admin.post('/dashboard/admin/providers', {
    name: 'second',
    style: 'openai-style',
    base_url: `${supplier.url}/v1`,
    secret: SECRET,
  });
  const id = second.json['id'] as number;
  await makeModel('chained', { lanes: [lane('second'), lane('first')] });
  await makeModel('lonely', { lanes: [lane('second')] });
  const chain = async (): Promise<string[]> => {
    await newest();
    const model = house.app.application.get(CatalogueService).snapshot.model('chained');
    return model?.lanes.map(({ provider }) => provider.name) ?? [];
  };
  expect((await house.admin.get(`/dashboard/admin/providers/${id}/visibility-info`)).json).toMatchObject({
    models: 2,
    moves_to_backup: 1,
    without_backup: 1,
    without_backup_models: ['lonely'],
  });
  expect(await chain()).toEqual(['second', 'first']);
  await house.admin.post(`/dashboard/admin/providers/${id}/visibility`, { visible: false });
  expect(await chain()).toEqual(['first']);
  await house.admin.post(`/dashboard/admin/providers/${id}/visibility`, { visible: true });
  expect(await chain()).toEqual(['second', 'first']);
  const removal = await house.admin.post(`/dashboard/admin/providers/${id}/delete`, {});
  expect(removal).toMatchObject({ status: 409, json: { code: 'conflict' } });
  for (const model of ['chained', 'lonely'])
    await house.admin.post('/dashboard/admin/models/update', { model, lanes: [lane('first')] });
  expect(await house.admin.post(`/dashboard/admin/providers/${id}/delete`, {})).toMatchObject({
    status: 200,
  });
});

describe('the connectivity test', () => {
  const probe = (more: object) =>
    house.admin.post('/dashboard/admin/providers/test', { upstream_model: 'their-model', ...more });
  const typed = (more: object = {}) =>
    probe({ style: 'openai-style', base_url: `${supplier.url}/v1`, secret: 'typed-secret-1234', ...more });

  test('says what is wrong, and how long it took', async () => {
    supplier.answer = { body: chatAnswer };
    expect((await typed()).json).toMatchObject({ ok: true, failure: null, status: 200 });
    supplier.answer = { status: 401, body: { error: { message: 'no typed-secret-1234' } } };
    const refused = await typed();
    expect(refused.json).toMatchObject({ ok: false, failure: 'credentials', status: 401 });
    expect(JSON.stringify(refused.json)).not.toContain('typed-secret-1234');
    supplier.answer = { status: 404, body: { error: { message: 'no such model' } } };
    expect((await typed()).json).toMatchObject({ failure: 'model' });
    supplier.answer = { status: 429, body: {} };
    expect((await typed()).json).toMatchObject({ failure: 'limited' });
    supplier.answer = { body: { hello: 'world' } };
    expect((await typed()).json).toMatchObject({ failure: 'shape', status: 200 });
    supplier.answer = { body: '<html>' };
    expect((await typed()).json).toMatchObject({ failure: 'shape' });
    supplier.answer = { status: 302, headers: { location: 'http://127.0.0.1/' }, body: '' };
    expect((await typed()).json).toMatchObject({ failure: 'shape', status: 302 });
    expect((await typed({ base_url: 'http://127.0.0.1:9/v1' })).json).toMatchObject({ failure: 'refused' });
    expect((await typed({ base_url: supplier.url.replace('http:', 'https:') })).json).toMatchObject({
      failure: 'tls',
    });
    expect((await typed({ base_url: 'https://no-such-host.invalid/v1' })).json).toMatchObject({
      failure: 'dns',
    });
    supplier.answer = { body: chatAnswer };
  });

  test('reaches nothing inside', async () => {
    const heard = supplier.heard.length;
    for (const base of [
      'http://169.254.169.254/latest',
      'https://10.0.0.1/v1',
      'https://[::1]/v1',
      'https://0x7f.1/v1',
      'https://user:pass@example.com/v1',
    ]) {
      expect((await typed({ base_url: base })).json).toMatchObject({
        ok: false,
        failure: 'address',
        status: null,
      });
      const made = await house.admin.post('/dashboard/admin/providers', {
        name: 'x',
        style: 'openai-style',
        base_url: base,
      });
      expect(made.json).toMatchObject({ code: 'invalid_provider' });
    }
    expect(supplier.heard).toHaveLength(heard);
  });

  test('a stored secret goes only where it was entered for, and leaves with the address', async () => {
    await house.admin.post('/dashboard/admin/providers', {
      name: 'moving',
      style: 'openai-style',
      base_url: `${supplier.url}/v1`,
      secret: SECRET,
    });
    const rows = await house.app.database.query<{ id: number }>(
      `SELECT id FROM provider WHERE name = 'moving'`,
    );
    const id = rows[0]?.id ?? 0;
    await newest();
    expect((await probe({ provider_id: id })).json).toMatchObject({ ok: true });
    expect(supplier.heard.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
    const elsewhere = await ScriptedSupplier.start();
    const moved = await probe({ provider_id: id, base_url: `${elsewhere.url}/v1` });
    expect(moved.json).toMatchObject({ ok: false, failure: 'configuration' });
    expect(elsewhere.heard).toEqual([]);
    const saved = await house.admin.post(`/dashboard/admin/providers/${id}/update`, {
      base_url: `${elsewhere.url}/v1`,
    });
    expect(saved.json).toMatchObject({ secrets: [], cleared_secrets: ['portal'] });
    await elsewhere.stop();
  });
});

test('what a file keeps, pages leave alone, but for its state', async () => {
  await makeModel('kept');
  await house.app.database.query(`UPDATE model SET managed = true WHERE name = 'kept'`);
  const change = await house.admin.post('/dashboard/admin/models/update', {
    model: 'kept',
    display_name: 'x',
  });
  expect(change).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(
    await house.admin.post('/dashboard/admin/prices', { model: 'kept', input_price: '7' }),
  ).toMatchObject({ status: 409 });
  for (const state of ['paused', 'deleted', 'active']) {
    const moved = await house.admin.post('/dashboard/admin/model-prices/state', { model: 'kept', state });
    expect([state, moved.status]).toEqual([state, 200]);
  }
});

test('only the platform changes the catalogue, and fields that are not named change nothing', async () => {
  const owner = await house.visitor('org_owner', await house.organisation('outsiders'));
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
      await house.admin.post('/dashboard/admin/models/update', { model: 'served', [field]: true }),
    ).toMatchObject({ status: 422 });
});

test('forms of pages lead back with a word, and come back themselves where they were refused', async () => {
  const back = '/dashboard/admin/models?tab=models&q=served';
  const good = await house.admin.form('/dashboard/admin/model-prices/state', {
    model: 'served',
    state: 'paused',
    back,
  });
  expect([good.status, good.headers['location']]).toEqual([303, back]);
  const bad = await house.admin.form('/dashboard/admin/model-prices/state', {
    model: 'absent',
    state: 'paused',
    back,
    _page: back,
  });
  expect(bad.status).toBe(404);
  expect(bad.body).toContain('class="banner banner-bad" role="alert"');
  const away = await house.admin.form('/dashboard/admin/model-prices/state', {
    model: 'served',
    state: 'active',
    back: 'https://elsewhere.example/',
  });
  expect(away.headers['location']).toBe('/dashboard/admin/models');
});
