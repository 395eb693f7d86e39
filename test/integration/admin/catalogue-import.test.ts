import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdminHouse, type Json, type AdminJsonResponse } from './admin-fixture';

let fixture: AdminHouse;

const IMPORT = '/dashboard/admin/models/import';
const SECRET = 'sk-very-secret-0123456789';

/** Every field type of gateway.yaml except secrets. */
const RICH = `
version: 1
providers:
  one:
    style: openai-style
    base_url: https://one.example/v1
    regions: [eu, us]
    settings: { anonymous: true, note: 'a $\${literal}', nested: { deep: [1, two] } }
    timeouts: { connect: 3s, first_byte: 300s, total: 20m }
    breaker: { failures: 4, window: 10s }
  two: { style: messages-style, base_url: 'https://two.example', visible: false }
models:
  writer:
    display_name: 'Writer: the "best"'
    context_tokens: 200_000
    max_output_tokens: 64_000
    bounds: { image_tokens: 1500 }
    input_modalities: [text, image]
    capabilities: [tools, json_schema]
    order: 7
    restricted: true
    replay_included: true
    retires_at: 2091-01-01T12:30:00Z
    lane_order: price
    answer_model: supplier
    continue_streams: off
    aliases: [pen, team/pen]
    lanes:
      - { provider: one, model: writer-4, region: eu, retries: 1 }
      - { provider: two, model: vendor/writer-4, region: us, priority: 1, weight: 3, enabled: false, price: { input: 4, output: 20 } }
    price:
      input: 0.000000001
      output: 15.10
      cache_read: 0.30
      per_call: 0.002
      uses: { web_search: 0.01 }
      service_tier: { priority: { multiplier: 2.5 }, flex: { input: 0.5, output: 1, tiers: [{ above_input_tokens: 100000, input: 1 }] } }
      tiers:
        - { above_input_tokens: 200_000, input: 6, output: 22.50 }
    schedules:
      - { from: 2090-12-24T00:00:00Z, to: 2090-12-27T00:00:00Z, price: { input: 1.50, output: 7.50 } }
  painter: { kind: image, owned_by: one, output_modalities: [image], price: { input: 0, per_call: 0.04, images: { hd/1024x1792: 0.12 } } }
  gone: { owned_by: one, state: deleted }
  old-writer: { owned_by: one, redirect: writer, overflow: painter, state: hidden, input_modalities: [] }
organisations:
  acme: { regions: [eu], models: { writer: allowed, painter: blocked }, departments: { Research: { models: { writer: blocked } } } }
`;

beforeAll(async () => {
  fixture = await AdminHouse.open();
  const acme = await fixture.organisation('acme');
  await fixture.app.database.query(`INSERT INTO department (organisation_id, name) VALUES ($1, 'Research')`, [
    acme,
  ]);
});
afterAll(() => fixture.close());

const importCatalogue = (
  format: string,
  content: string,
  extraFields: object = {},
): Promise<AdminJsonResponse> => fixture.admin.post(IMPORT, { format, content, ...extraFields });

const applyDraft = ({ json }: AdminJsonResponse, fields: object): Promise<AdminJsonResponse> =>
  fixture.admin.post(`${IMPORT}/${String(json['draft_id'])}/apply`, { shown: json['shown'], ...fields });

const namesIn = ({ json }: AdminJsonResponse): string[] =>
  (json['rows'] as { kind: string; name: string; mark: string }[]).map(
    ({ kind, name, mark }) => `${mark} ${kind} ${name}`,
  );

async function queryAll(statement: string): Promise<Json[]> {
  return fixture.app.database.query<Json>(statement);
}

/** Serialises every table that an import can change. */
async function readCatalogue(): Promise<string> {
  const tables = [
    'provider',
    'model',
    'lane',
    'model_alias',
    'price',
    'price_schedule',
    'model_organisation_access',
  ];
  const rows = await Promise.all(tables.map((table) => queryAll(`SELECT * FROM ${table} ORDER BY 1, 2`)));
  return JSON.stringify(rows);
}

test('a gateway.yaml import is previewed, applied in part, logged, and no longer offers the applied rows', async () => {
  const catalogueBefore = await readCatalogue();
  const preview = await importCatalogue('gateway-yaml', RICH);
  expect(preview.status).toBe(200);
  expect(namesIn(preview)).toEqual(
    expect.arrayContaining([
      'new provider one',
      'new model writer',
      'new alias pen',
      'changed organisation acme',
    ]),
  );
  expect(await readCatalogue()).toBe(catalogueBefore);

  const partialResponse = await applyDraft(preview, {
    row: ['provider one', 'provider two', 'model painter'],
  });
  expect(partialResponse).toMatchObject({ status: 200, json: { applied: 3 } });
  expect(await queryAll('SELECT name, managed FROM provider ORDER BY name')).toEqual([
    { name: 'one', managed: false },
    { name: 'two', managed: false },
  ]);
  expect(await queryAll('SELECT name FROM model')).toEqual([{ name: 'painter' }]);
  const entries = await fixture.entries('catalogue.imported');
  expect(entries.map(({ object_label: label }) => label).sort()).toEqual(['one', 'painter', 'two']);
  expect(entries.find(({ object_label: label }) => label === 'painter')?.changes).toMatchObject({
    'price per_call': [null, '$0.04'],
  });

  // In a browser, the page no longer lists the applied rows.
  const path = `${IMPORT}/${String(preview.json['draft_id'])}`;
  const page = await fixture.admin.page(path);
  expect(page.body).toContain('value="model writer"');
  expect(page.body).not.toContain('value="model painter"');
  const shownToken = /name="shown" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  const restResponse = await fixture.admin.form(`${path}/apply`, {
    shown: shownToken,
    extent: 'all',
    back: path,
  });
  expect([restResponse.status, restResponse.headers['location']]).toEqual([303, path]);
  expect((await fixture.admin.page(path)).body).toContain('Nothing to do');
});

test('importing an export changes nothing, and an edited export changes only the edited field', async () => {
  const { status, body, headers } = await fixture.admin.page('/dashboard/admin/models/export');
  expect([status, headers['content-type']]).toEqual([200, 'application/yaml; charset=utf-8']);
  const unchangedImport = await importCatalogue('gateway-yaml', body);
  expect(unchangedImport.json).toMatchObject({ rows: [], faults: [], warnings: expect.any(Array) });
  expect(unchangedImport.json['untouched']).toHaveLength(10);
  expect(body).toContain('15.1');
  const editedImport = await importCatalogue('gateway-yaml', body.replace('output: 15.1', 'output: 16'));
  expect(editedImport.json['rows']).toEqual([
    {
      kind: 'model',
      name: 'writer',
      mark: 'changed',
      changes: [{ field: 'price output', before: '$15.1', after: '$16' }],
    },
  ]);
  expect(await applyDraft(editedImport, { extent: 'all' })).toMatchObject({ json: { applied: 1 } });
});

test('exports contain no secrets, and imports leave stored secrets unchanged', async () => {
  const { json } = await fixture.admin.post('/dashboard/admin/providers', {
    name: 'three',
    style: 'openai-style',
    base_url: 'https://three.example/v1',
    secret: SECRET,
  });
  const { body } = await fixture.admin.page('/dashboard/admin/models/export');
  expect(body).toContain('three.example');
  expect(body).not.toContain(SECRET);
  expect(body).not.toContain('6789');
  const editedImport = await importCatalogue(
    'gateway-yaml',
    body.replace('https://three.example/v1', 'https://three.example/v2'),
  );
  expect(await applyDraft(editedImport, { extent: 'all' })).toMatchObject({ status: 200 });
  const page = await fixture.admin.page(`/dashboard/admin/providers/edit?id=${String(json['id'])}`);
  expect(page.body).toContain('••••6789');
});

test('an import that moves a provider to another host deletes its secret', async () => {
  const { body } = await fixture.admin.page('/dashboard/admin/models/export');
  const editedImport = await importCatalogue(
    'gateway-yaml',
    body.replace('https://three.example/v2', 'https://elsewhere.example/v1'),
  );
  expect(await applyDraft(editedImport, { extent: 'all' })).toMatchObject({ status: 200 });
  const [kept] = await queryAll(
    `SELECT count(*)::integer AS count FROM provider_credential c JOIN provider p ON p.id = c.provider_id
      WHERE p.name = 'three' AND c.disabled_at IS NULL`,
  );
  expect(kept).toEqual({ count: 0 });
});

test('an import that is stale, incomplete or refused midway changes nothing', async () => {
  const yaml = (price: number) => `
version: 1
providers: { four: { style: openai-style, base_url: 'https://four.example/v1', settings: { anonymous: true } } }
models: { needy: { lanes: [{ provider: four, model: m, region: eu }], price: { input: ${price}, output: 1 } } }
`;
  const preview = await importCatalogue('gateway-yaml', yaml(1));
  const catalogueBefore = await readCatalogue();
  const incompleteResponse = await applyDraft(preview, { row: ['model needy'] });
  expect(incompleteResponse).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(await applyDraft(preview, {})).toMatchObject({ status: 422, json: { code: 'validation_error' } });
  expect(await readCatalogue()).toBe(catalogueBefore);
  await fixture.admin.post('/dashboard/admin/providers', {
    name: 'four',
    style: 'openai-style',
    base_url: 'https://four.example/v1',
  });
  const catalogueMeanwhile = await readCatalogue();
  expect(await applyDraft(preview, { extent: 'all' })).toMatchObject({
    status: 409,
    json: { code: 'conflict' },
  });
  expect(await readCatalogue()).toBe(catalogueMeanwhile);
});

test('an unreadable file is refused with its line number, and no secret is stored', async () => {
  const cases: [string, string, string][] = [
    ['gateway-yaml', 'version: 1\nproviders:\n  x: { style: none, base_url: "https://x.example" }', 'style'],
    [
      'gateway-yaml',
      `version: 1\nproviders:\n  x: { style: openai-style, base_url: 'https://x.example', api_key: ${SECRET} }`,
      'api_key',
    ],
    [
      'gateway-yaml',
      'version: 1\nproviders:\n  x: { style: openai-style, base_url: "https://127.0.0.1/v1" }',
      'base_url',
    ],
    [
      'gateway-yaml',
      'version: 1\nproviders:\n  x: { style: openai-style, base_url: "${HOST}" }',
      'command line',
    ],
    ['gateway-yaml', 'version: [', ''],
    ['litellm-prices', '{', ''],
    ['models-dev', 'version: 1', ''],
    ['csv', 'a,b', ''],
    ['gateway-yaml', ' ', ''],
  ];
  const drafts = () => queryAll('SELECT content FROM catalogue_draft');
  const draftsBefore = await drafts();
  for (const [format, content, word] of cases) {
    const { status, json } = await importCatalogue(format, content);
    expect([format, content, status >= 400 && status < 500]).toEqual([format, content, true]);
    expect(JSON.stringify(json)).toContain(word);
    expect(JSON.stringify(json)).not.toContain(SECRET);
  }
  expect(await drafts()).toEqual(draftsBefore);
});

test('both price list formats add paused models and keep manual prices unless overwrite is set', async () => {
  const readFixtureFile = (name: string): string =>
    readFileSync(join(__dirname, '..', '..', 'fixtures', 'prices', name), 'utf8');
  const litellm = await importCatalogue('litellm-prices', readFixtureFile('litellm.json'), {
    only: ['tiers', 'modes'],
  });
  expect(namesIn(litellm)).toEqual(expect.arrayContaining(['new model tiers', 'new model modes']));
  expect(await applyDraft(litellm, { row: ['model tiers'] })).toMatchObject({ json: { applied: 1 } });
  expect(await queryAll(`SELECT state FROM model WHERE name IN ('tiers', 'modes')`)).toEqual([
    { state: 'paused' },
  ]);
  const repeatedImport = await importCatalogue('litellm-prices', readFixtureFile('litellm.json'), {
    only: ['tiers', 'modes'],
  });
  expect(namesIn(repeatedImport)).toEqual(['new model modes']);
  expect(repeatedImport.json['untouched']).toEqual(['model tiers']);

  const priceResponse = await fixture.admin.post('/dashboard/admin/prices', {
    model: 'tiers',
    input_price: '2',
  });
  expect(priceResponse.status).toBe(200);
  const keepingImport = await importCatalogue('litellm-prices', readFixtureFile('litellm.json'), {
    only: 'tiers',
  });
  expect(keepingImport.json).toMatchObject({ rows: [], kept: [expect.stringContaining('model tiers')] });
  const overwritingImport = await importCatalogue('litellm-prices', readFixtureFile('litellm.json'), {
    only: 'tiers',
    overwrite: true,
  });
  expect(namesIn(overwritingImport)).toEqual(['changed model tiers']);

  const modelsDevImport = await importCatalogue('models-dev', readFixtureFile('models-dev.json'), {
    providers: 'one=two',
    only: 'wide',
  });
  expect(namesIn(modelsDevImport)).toEqual(['new model wide']);
  const unknownProviderImport = await importCatalogue('models-dev', readFixtureFile('models-dev.json'), {
    providers: 'nobody',
  });
  expect(unknownProviderImport.json).toMatchObject({
    rows: [],
    faults: [{ problem: expect.stringContaining('nobody') }],
  });
});

test('models defined in the gateway file are reported and left unchanged', async () => {
  await fixture.app.database.query(`UPDATE model SET managed = true WHERE name = 'painter'`);
  const { body } = await fixture.admin.page('/dashboard/admin/models/export');
  const editedImport = await importCatalogue(
    'gateway-yaml',
    body.replace('per_call: 0.04', 'per_call: 0.05'),
  );
  expect(editedImport.json).toMatchObject({
    rows: [],
    warnings: expect.arrayContaining([expect.stringContaining('model painter is kept by a gateway file')]),
  });
});

test('a browser uploads a file, and a refused upload shows the form again', async () => {
  const form = new FormData();
  form.set('format', 'gateway-yaml');
  form.set('file', new Blob(['version: 1\nmodels:\n  typed: { owned_by: me }\n']), 'gateway.yaml');
  form.set('content', '');
  const answer = await fixture.admin.upload(IMPORT, form);
  expect(answer.status).toBe(303);
  const page = await fixture.admin.page(answer.headers.get('location') ?? '');
  expect(page.body).toContain('value="model typed"');

  const invalidForm = new FormData();
  invalidForm.set('format', 'gateway-yaml');
  invalidForm.set('content', 'version: 2 # mine');
  invalidForm.set('_page', IMPORT);
  const refusal = await fixture.admin.upload(IMPORT, invalidForm);
  expect(refusal.status).toBe(422);
  const text = await refusal.text();
  expect(text).toContain('version: 2 # mine');
  expect(text).toContain('expected one of 1');
});

test('only platform administrators import and export, and a draft is visible to its owner only', async () => {
  const owner = await fixture.visitor('org_owner', await fixture.organisation('others'));
  for (const path of [IMPORT, '/dashboard/admin/models/export'])
    expect([path, (await owner.page(path)).status]).toEqual([path, 403]);
  expect(await owner.post(IMPORT, { format: 'gateway-yaml', content: 'version: 1' })).toMatchObject({
    status: 403,
  });
  const ownDraft = await importCatalogue('gateway-yaml', 'version: 1\nmodels: { mine: { owned_by: me } }');
  const otherAdmin = await fixture.visitor('platform_admin');
  const path = `${IMPORT}/${String(ownDraft.json['draft_id'])}`;
  expect((await otherAdmin.page(path)).status).toBe(404);
  expect(
    await otherAdmin.post(`${path}/apply`, { shown: ownDraft.json['shown'], extent: 'all' }),
  ).toMatchObject({
    status: 404,
  });
  expect((await fixture.admin.page(`${IMPORT}/not-an-id`)).status).toBe(422);
});
