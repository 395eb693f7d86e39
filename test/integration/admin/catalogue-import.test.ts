import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdminHouse, type Json, type JsonAnswer } from './admin-house';

let house: AdminHouse;

const IMPORT = '/dashboard/admin/models/import';
const SECRET = 'sk-very-secret-0123456789';

/** Every kind of field that a gateway.yaml has, secrets apart. */
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
  house = await AdminHouse.open();
  const acme = await house.organisation('acme');
  await house.app.database.query(`INSERT INTO department (organisation_id, name) VALUES ($1, 'Research')`, [
    acme,
  ]);
});
afterAll(() => house.close());

const bring = (format: string, content: string, more: object = {}): Promise<JsonAnswer> =>
  house.admin.post(IMPORT, { format, content, ...more });

const apply = ({ json }: JsonAnswer, more: object): Promise<JsonAnswer> =>
  house.admin.post(`${IMPORT}/${String(json['draft_id'])}/apply`, { shown: json['shown'], ...more });

const namesIn = ({ json }: JsonAnswer): string[] =>
  (json['rows'] as { kind: string; name: string; mark: string }[]).map(
    ({ kind, name, mark }) => `${mark} ${kind} ${name}`,
  );

async function all(statement: string): Promise<Json[]> {
  return house.app.database.query<Json>(statement);
}

/** Everything that an import could change. */
async function catalogue(): Promise<string> {
  const tables = [
    'provider',
    'model',
    'lane',
    'model_alias',
    'price',
    'price_schedule',
    'model_organisation_access',
  ];
  const rows = await Promise.all(tables.map((table) => all(`SELECT * FROM ${table} ORDER BY 1, 2`)));
  return JSON.stringify(rows);
}

test('a gateway.yaml: looked at, chosen from, applied, on record, and nobody keeps it from then on', async () => {
  const before = await catalogue();
  const looked = await bring('gateway-yaml', RICH);
  expect(looked.status).toBe(200);
  expect(namesIn(looked)).toEqual(
    expect.arrayContaining([
      'new provider one',
      'new model writer',
      'new alias pen',
      'changed organisation acme',
    ]),
  );
  expect(await catalogue()).toBe(before);

  const some = await apply(looked, { row: ['provider one', 'provider two', 'model painter'] });
  expect(some).toMatchObject({ status: 200, json: { applied: 3 } });
  expect(await all('SELECT name, managed FROM provider ORDER BY name')).toEqual([
    { name: 'one', managed: false },
    { name: 'two', managed: false },
  ]);
  expect(await all('SELECT name FROM model')).toEqual([{ name: 'painter' }]);
  const entries = await house.entries('catalogue.imported');
  expect(entries.map(({ object_label: label }) => label).sort()).toEqual(['one', 'painter', 'two']);
  expect(entries.find(({ object_label: label }) => label === 'painter')?.changes).toMatchObject({
    'price per_call': [null, '$0.04'],
  });

  // The same page, as a browser: what was applied is no longer on it.
  const path = `${IMPORT}/${String(looked.json['draft_id'])}`;
  const page = await house.admin.page(path);
  expect(page.body).toContain('value="model writer"');
  expect(page.body).not.toContain('value="model painter"');
  const shown = /name="shown" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  const rest = await house.admin.form(`${path}/apply`, { shown, extent: 'all', back: path });
  expect([rest.status, rest.headers['location']]).toEqual([303, path]);
  expect((await house.admin.page(path)).body).toContain('Nothing to do');
});

test('the export is the same YAML: brought again it changes nothing, and an edit in it changes just that', async () => {
  const { status, body, headers } = await house.admin.page('/dashboard/admin/models/export');
  expect([status, headers['content-type']]).toEqual([200, 'application/yaml; charset=utf-8']);
  const again = await bring('gateway-yaml', body);
  expect(again.json).toMatchObject({ rows: [], faults: [], warnings: expect.any(Array) });
  expect(again.json['untouched']).toHaveLength(10);
  expect(body).toContain('15.1');
  const edited = await bring('gateway-yaml', body.replace('output: 15.1', 'output: 16'));
  expect(edited.json['rows']).toEqual([
    {
      kind: 'model',
      name: 'writer',
      mark: 'changed',
      changes: [{ field: 'price output', before: '$15.1', after: '$16' }],
    },
  ]);
  expect(await apply(edited, { extent: 'all' })).toMatchObject({ json: { applied: 1 } });
});

test('secrets are in no export, and an import leaves those that are kept alone', async () => {
  const { json } = await house.admin.post('/dashboard/admin/providers', {
    name: 'three',
    style: 'openai-style',
    base_url: 'https://three.example/v1',
    secret: SECRET,
  });
  const { body } = await house.admin.page('/dashboard/admin/models/export');
  expect(body).toContain('three.example');
  expect(body).not.toContain(SECRET);
  expect(body).not.toContain('6789');
  const edited = await bring(
    'gateway-yaml',
    body.replace('https://three.example/v1', 'https://three.example/v2'),
  );
  expect(await apply(edited, { extent: 'all' })).toMatchObject({ status: 200 });
  const page = await house.admin.page(`/dashboard/admin/providers/edit?id=${String(json['id'])}`);
  expect(page.body).toContain('••••6789');
});

test('an import that moves a provider to another host takes its secret along to nowhere', async () => {
  const { body } = await house.admin.page('/dashboard/admin/models/export');
  const edited = await bring(
    'gateway-yaml',
    body.replace('https://three.example/v2', 'https://elsewhere.example/v1'),
  );
  expect(await apply(edited, { extent: 'all' })).toMatchObject({ status: 200 });
  const [kept] = await all(
    `SELECT count(*)::integer AS count FROM provider_credential c JOIN provider p ON p.id = c.provider_id
      WHERE p.name = 'three' AND c.disabled_at IS NULL`,
  );
  expect(kept).toEqual({ count: 0 });
});

test('an import that fails changes nothing: out of date, chosen without what it needs, or refused on the way', async () => {
  const yaml = (price: number) => `
version: 1
providers: { four: { style: openai-style, base_url: 'https://four.example/v1', settings: { anonymous: true } } }
models: { needy: { lanes: [{ provider: four, model: m, region: eu }], price: { input: ${price}, output: 1 } } }
`;
  const looked = await bring('gateway-yaml', yaml(1));
  const before = await catalogue();
  const needy = await apply(looked, { row: ['model needy'] });
  expect(needy).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(await apply(looked, {})).toMatchObject({ status: 422, json: { code: 'validation_error' } });
  expect(await catalogue()).toBe(before);
  await house.admin.post('/dashboard/admin/providers', {
    name: 'four',
    style: 'openai-style',
    base_url: 'https://four.example/v1',
  });
  const meanwhile = await catalogue();
  expect(await apply(looked, { extent: 'all' })).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(await catalogue()).toBe(meanwhile);
});

test('what cannot be read is told with its line, and no secret is kept', async () => {
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
  const drafts = () => all('SELECT content FROM catalogue_draft');
  const before = await drafts();
  for (const [format, content, word] of cases) {
    const { status, json } = await bring(format, content);
    expect([format, content, status >= 400 && status < 500]).toEqual([format, content, true]);
    expect(JSON.stringify(json)).toContain(word);
    expect(JSON.stringify(json)).not.toContain(SECRET);
  }
  expect(await drafts()).toEqual(before);
});

test('price lists of both kinds: new models come in paused, prices by hand are kept unless replaced', async () => {
  const fixture = (name: string): string =>
    readFileSync(join(__dirname, '..', '..', 'fixtures', 'prices', name), 'utf8');
  const litellm = await bring('litellm-prices', fixture('litellm.json'), { only: ['tiers', 'modes'] });
  expect(namesIn(litellm)).toEqual(expect.arrayContaining(['new model tiers', 'new model modes']));
  expect(await apply(litellm, { row: ['model tiers'] })).toMatchObject({ json: { applied: 1 } });
  expect(await all(`SELECT state FROM model WHERE name IN ('tiers', 'modes')`)).toEqual([
    { state: 'paused' },
  ]);
  const again = await bring('litellm-prices', fixture('litellm.json'), { only: ['tiers', 'modes'] });
  expect(namesIn(again)).toEqual(['new model modes']);
  expect(again.json['untouched']).toEqual(['model tiers']);

  const set = await house.admin.post('/dashboard/admin/prices', { model: 'tiers', input_price: '2' });
  expect(set.status).toBe(200);
  const kept = await bring('litellm-prices', fixture('litellm.json'), { only: 'tiers' });
  expect(kept.json).toMatchObject({ rows: [], kept: [expect.stringContaining('model tiers')] });
  const replaced = await bring('litellm-prices', fixture('litellm.json'), { only: 'tiers', overwrite: true });
  expect(namesIn(replaced)).toEqual(['changed model tiers']);

  const dev = await bring('models-dev', fixture('models-dev.json'), { providers: 'one=two', only: 'wide' });
  expect(namesIn(dev)).toEqual(['new model wide']);
  const unknown = await bring('models-dev', fixture('models-dev.json'), { providers: 'nobody' });
  expect(unknown.json).toMatchObject({ rows: [], faults: [{ problem: expect.stringContaining('nobody') }] });
});

test('what a gateway file keeps is left alone, and said', async () => {
  await house.app.database.query(`UPDATE model SET managed = true WHERE name = 'painter'`);
  const { body } = await house.admin.page('/dashboard/admin/models/export');
  const edited = await bring('gateway-yaml', body.replace('per_call: 0.04', 'per_call: 0.05'));
  expect(edited.json).toMatchObject({
    rows: [],
    warnings: expect.arrayContaining([expect.stringContaining('model painter is kept by a gateway file')]),
  });
});

test('a file from a browser, and a refusal that shows the form again', async () => {
  const form = new FormData();
  form.set('format', 'gateway-yaml');
  form.set('file', new Blob(['version: 1\nmodels:\n  typed: { owned_by: me }\n']), 'gateway.yaml');
  form.set('content', '');
  const answer = await house.admin.upload(IMPORT, form);
  expect(answer.status).toBe(303);
  const page = await house.admin.page(answer.headers.get('location') ?? '');
  expect(page.body).toContain('value="model typed"');

  const wrong = new FormData();
  wrong.set('format', 'gateway-yaml');
  wrong.set('content', 'version: 2 # mine');
  wrong.set('_page', IMPORT);
  const refused = await house.admin.upload(IMPORT, wrong);
  expect(refused.status).toBe(422);
  const text = await refused.text();
  expect(text).toContain('version: 2 # mine');
  expect(text).toContain('expected one of 1');
});

test('only the platform imports and exports, and a draft is its owner’s alone', async () => {
  const owner = await house.visitor('org_owner', await house.organisation('others'));
  for (const path of [IMPORT, '/dashboard/admin/models/export'])
    expect([path, (await owner.page(path)).status]).toEqual([path, 403]);
  expect(await owner.post(IMPORT, { format: 'gateway-yaml', content: 'version: 1' })).toMatchObject({
    status: 403,
  });
  const mine = await bring('gateway-yaml', 'version: 1\nmodels: { mine: { owned_by: me } }');
  const other = await house.visitor('platform_admin');
  const path = `${IMPORT}/${String(mine.json['draft_id'])}`;
  expect((await other.page(path)).status).toBe(404);
  expect(await other.post(`${path}/apply`, { shown: mine.json['shown'], extent: 'all' })).toMatchObject({
    status: 404,
  });
  expect((await house.admin.page(`${IMPORT}/not-an-id`)).status).toBe(422);
});
