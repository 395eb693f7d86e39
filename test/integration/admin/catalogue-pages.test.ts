import { parseForms } from '../../support/page-forms';
import { AdminHouse } from './admin-fixture';

let fixture: AdminHouse;

beforeAll(async () => {
  fixture = await AdminHouse.open();
  const { json } = await fixture.admin.post('/dashboard/admin/providers', {
    name: 'acme',
    style: 'openai-style',
    base_url: 'https://acme.example/v1',
    secret: 'sk-secret-0123456789',
  });
  expect(json['name']).toBe('acme');
  for (let index = 0; index < 55; index += 1)
    await fixture.admin.post('/dashboard/admin/models/create', {
      model: `acme/model-${String(index).padStart(2, '0')}`,
      kind: 'chat',
      owned_by: 'acme',
      input_price: '1.5',
      output_price: '3',
      lanes: [{ provider: 'acme', upstream_model: 'm', region: 'eu' }],
    });
  await fixture.admin.post('/dashboard/admin/models/add-alias', { model: 'acme/model-07', alias: 'seven' });
});
afterAll(() => fixture.close());

const names = (body: string) => [...body.matchAll(/>(acme\/model-\d\d)</g)].map(([, name]) => name);
const getBody = async (path: string): Promise<string> => {
  const { status, body } = await fixture.admin.page(path);
  expect([path, status]).toEqual([path, 200]);
  expect(body).not.toContain('catalogue.');
  return body;
};

test('the models page has pagination, search by alias and a state filter', async () => {
  const firstPage = await getBody('/dashboard/admin/models');
  expect(names(firstPage)).toHaveLength(50);
  const next =
    /href="([^"]+)" rel="next"/.exec(firstPage)?.[1]?.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&') ??
    '';
  expect(names(await getBody(next))).toHaveLength(5);
  expect(names(await getBody('/dashboard/admin/models?q=seven'))).toEqual(['acme/model-07']);
  expect(await getBody('/dashboard/admin/models?state=paused')).toContain('Nothing matches');
});

test('every tab and every form opens and shows no secret', async () => {
  expect(await getBody('/dashboard/admin/models?tab=providers')).toContain('https://acme.example/v1');
  expect(await getBody('/dashboard/admin/models?tab=prices&q=model-07')).toContain('acme/model-07');
  expect(await getBody('/dashboard/admin/models?tab=aliases')).toContain('seven');
  expect(await getBody('/dashboard/admin/models/edit?model=acme%2Fmodel-07')).toContain('value="1.5"');
  await getBody('/dashboard/admin/models/new');
  await getBody('/dashboard/admin/providers/new');
  const rows = await fixture.app.database.query<{ id: number }>(
    `SELECT id FROM provider WHERE name = 'acme'`,
  );
  const provider = await getBody(`/dashboard/admin/providers/edit?id=${rows[0]?.id ?? 0}`);
  expect(provider).toContain('••••6789');
  expect(provider).not.toContain('sk-secret');
});

test('the model form saves its fields and refuses a stale version', async () => {
  const path = '/dashboard/admin/models/edit?model=acme%2Fmodel-03';
  const update = parseForms(await getBody(path)).find(
    ({ action }) => action === '/dashboard/admin/models/update',
  );
  const version = update?.fields.find(({ name }) => name === 'version')?.value ?? '';
  const fields = new URLSearchParams({ model: 'acme/model-03', back: path, version, display_name: 'Third' });
  for (const [name, value] of [
    ['restricted', 'off'],
    ['answer_model', 'supplier'],
    ['continue_streams', 'off'],
    ['lane_provider', 'acme'],
    ['lane_provider', ''],
    ['lane_model', 'theirs'],
    ['lane_model', ''],
    ['lane_region', 'eu'],
    ['lane_region', ''],
  ] as const)
    fields.append(name, value);
  const saveResponse = await fixture.admin.form('/dashboard/admin/models/update', fields);
  expect([saveResponse.status, saveResponse.headers['location']]).toEqual([303, path]);
  expect(await getBody(path)).toContain('value="theirs"');
  expect(await getBody(path)).toContain('<option value="supplier" selected>');
  const [entry] = await fixture.app.database.query<{ changes: object }>(
    `SELECT changes FROM activity WHERE action = 'model.changed' ORDER BY id DESC LIMIT 1`,
  );
  expect(entry?.changes).toMatchObject({
    answer_model: ['caller', 'supplier'],
    continue_streams: ['on', 'off'],
  });
  fields.set('display_name', 'Late');
  await fixture.admin.form('/dashboard/admin/models/update', fields);
  expect(await getBody(path)).toContain('value="Third"');
});

test('an organisation sees its offered models with its own switch and no catalogue forms', async () => {
  const owner = await fixture.visitor('org_owner', await fixture.organisation('ours'));
  const { status, body } = await owner.page('/dashboard/admin/models?tab=providers');
  expect(status).toBe(200);
  expect(body).toContain('/dashboard/admin/models/domain-toggle');
  expect(body).not.toContain('acme.example');
  expect((await owner.page('/dashboard/admin/models/edit?model=acme%2Fmodel-03')).status).toBe(403);
  expect((await owner.page('/dashboard/admin/prices')).status).toBe(403);
  expect((await fixture.admin.page('/dashboard/admin/prices')).headers['location']).toBe(
    '/dashboard/admin/models',
  );
});

test('an unset price is shown as a dash, and a free price as zero', async () => {
  const add = (model: string, kind: string, prices: object) =>
    fixture.admin.post('/dashboard/admin/models/create', { model, kind, owned_by: 'acme', ...prices });
  await add('dash/spoken', 'transcription', { ppm_price: '0.006' });
  await add('dash/vectors', 'embedding', { input_price: '0.02' });
  await add('dash/sorted', 'rerank', { per_call_price: '0.002' });
  await add('dash/gift', 'chat', { input_price: '0', output_price: '0' });
  for (const tab of ['models', 'prices']) {
    const body = await getBody(`/dashboard/admin/models?tab=${tab}&q=dash`);
    const shownPrices = (name: string): string[] => {
      const row = body.split('<tr').find((part) => part.includes(`>${name}<`)) ?? '';
      return [...row.matchAll(/<td class="align-end">([^<]*)<\/td>/g)]
        .map(([, text = '']) => text)
        .slice(0, 3);
    };
    expect([tab, shownPrices('dash/spoken')]).toEqual([tab, ['–', '–', '$0.006']]);
    expect([tab, shownPrices('dash/vectors')]).toEqual([tab, ['$0.02', '–', '–']]);
    expect([tab, shownPrices('dash/sorted')]).toEqual([tab, ['–', '–', '–']]);
    expect([tab, shownPrices('dash/gift')]).toEqual([tab, ['$0.00', '$0.00', '–']]);
  }
});

test("the model page shows a notice when a lane's provider does not support the API format", async () => {
  const page = (): Promise<string> => getBody('/dashboard/admin/models/edit?model=acme%2Fmodel-09');
  const notice = 'This provider does not support responses. Requests are sent as chat instead.';
  expect(await page()).not.toContain(notice);
  const lanes = [{ provider: 'acme', upstream_model: 'm', region: 'eu', wire: 'responses' }];
  await fixture.admin.post('/dashboard/admin/models/update', { model: 'acme/model-09', lanes });
  expect((await page()).split(notice)).toHaveLength(2);
});

// The effective `unknown_fields` is "shown on the key's page, in doctor and in the catalogue of a model".
test('the model page shows what happens to unknown request fields on each lane, and why', async () => {
  const page = (): Promise<string> => getBody('/dashboard/admin/models/edit?model=acme%2Fmodel-11');
  expect(await page()).toContain(
    'Left out and named in x-svc-dropped: this provider does not validate requests.',
  );
  const attributes = JSON.stringify({ harmless_fields: ['beam_width'] });
  await fixture.admin.post('/dashboard/admin/models/update', { model: 'acme/model-11', facts: attributes });
  await fixture.app.database.query(
    `UPDATE provider SET settings = settings || '{"profile": "openai", "extra_fields": ["min_p"]}' WHERE name = 'acme'`,
  );
  const pageText = await page();
  expect(pageText).toContain(
    'Left out if a budget or a wallet limits the caller, otherwise sent under a hold',
  );
  expect(pageText).toContain('(UNKNOWN_FIELDS&#x3D;auto). A key or an organisation can choose otherwise.');
  expect(pageText).toContain('Always sent: beam_width, min_p');
  await fixture.app.database.query(
    `UPDATE provider SET settings = settings - 'profile' - 'extra_fields' WHERE name = 'acme'`,
  );
});

test('the model page says that attributes of an unknown model behind profile openai are assumed', async () => {
  const page = (): Promise<string> => getBody('/dashboard/admin/models/edit?model=acme%2Fmodel-10');
  const lanes = [{ provider: 'acme', upstream_model: 'gpt-7-nova', region: 'eu' }];
  await fixture.admin.post('/dashboard/admin/models/update', { model: 'acme/model-10', lanes });
  expect(await page()).toContain('Not in the table of known models');
  await fixture.app.database.query(
    `UPDATE provider SET settings = settings || '{"profile": "openai"}' WHERE name = 'acme'`,
  );
  const pageText = await page();
  expect(pageText).toContain('Assumed: treated like gpt-6.2-astra');
  expect(pageText).not.toContain('Not in the table of known models');
});
