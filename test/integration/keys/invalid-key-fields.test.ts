import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { declareRegions } from '../../support/regions';
import { call, apiErrorOf } from './http';

let supplier: Simulator;
let app: TestApp;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const manage = (method: string, path: string, body?: unknown) =>
  call(app, app.firstKeys?.root ?? '', method, `/v1/manage/keys${path}`, body);

const createKey = async (): Promise<{ id: string }> => {
  const { body } = await manage('POST', '', { name: 'one' });
  return { id: body.id as string };
};

const readKey = async (id: string): Promise<Record<string, unknown>> => (await manage('GET', `/${id}`)).body;

const invalidFields: [field: string, value: unknown, param?: string][] = [
  ['name', ''],
  ['name', 5],
  ['name', 'x'.repeat(201)],
  ['name', 'a\r\nb'],
  ['name', 'nul\0'],
  ['allowed_models', []],
  ['allowed_models', 'sim-small'],
  ['allowed_models', ['sim-small', 'nobody'], 'allowed_models.1'],
  ['allowed_models', [{}], 'allowed_models.0'],
  ['allowed_models', [['sim-small']], 'allowed_models.0'],
  ['allowed_models', Array.from({ length: 1_001 }, () => 'sim-small')],
  ['allowed_regions', ''],
  ['allowed_regions', []],
  ['allowed_regions', 'eu,,us'],
  ['allowed_regions', ['eu', 5], 'allowed_regions.1'],
  ['allowed_regions', "eu'; DROP TABLE api_key; --"],
  ['allowed_regions', 'mars'],
  ['allowed_regions', ['local', 'mars']],
  ['budget_limit', -1],
  ['budget_limit', 'much'],
  ['budget_limit', 0.000_000_000_1],
  ['budget_limit', 1e30],
  ['budget_limit', {}],
  ['budget_period', 'yearly'],
  ['rate_limit_rpm', 0],
  ['rate_limit_rpm', -1],
  ['rate_limit_rpm', 1.5],
  ['rate_limit_rpm', '60'],
  ['rate_limit_rpm', 1e9],
  ['metadata', 'team'],
  ['metadata', ['team']],
  ['metadata', { team: 1 }, 'metadata.team'],
  ['metadata', { team: 'x'.repeat(513) }, 'metadata.team'],
  ['metadata', { team: 'nul\0' }, 'metadata.team'],
  ['metadata', { team: 'half a pair \ud800' }, 'metadata.team'],
  ['metadata', { 'a b': 'x' }],
  ['metadata', { constructor: 'x' }],
  ['metadata', Object.fromEntries(Array.from({ length: 65 }, (_, place) => [`label${place}`, 'x']))],
  ['expires_at', 'tomorrow'],
  ['expires_at', '2999-01-01T00:00:00'],
  ['expires_at', '2999-13-01'],
  ['expires_at', '2001-01-01T00:00:00Z'],
  ['expires_at', 32_503_680_000],
];

test.each(invalidFields)('%s cannot be %j', async (field, value, param = field) => {
  expect(apiErrorOf(await manage('POST', '', { name: 'one', [field]: value }))).toEqual([
    400,
    'invalid_request',
    param,
  ]);
  const { id } = await createKey();
  const keyBefore = await readKey(id);
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { [field]: value }))).toEqual([
    400,
    'invalid_request',
    param,
  ]);
  expect(await readKey(id)).toEqual(keyBefore);
});

test('an unknown region in `allowed_regions` is refused with the list of known regions', async () => {
  await declareRegions(app.database, 'eu');
  const { id } = await createKey();
  for (const [method, path] of [
    ['POST', ''],
    ['PATCH', `/${id}`],
  ] as const) {
    const { status, body } = await manage(method, path, { name: 'one', allowed_regions: 'mars' });
    expect([status, body['error']]).toEqual([
      400,
      expect.objectContaining({
        param: 'allowed_regions',
        human_message: 'Unknown region "mars" in allowed_regions. Known regions: eu, local.',
      }),
    ]);
  }
  await manage('PATCH', `/${id}`, { allowed_regions: 'eu' });
  await app.database.query("UPDATE provider SET regions = '{}'");
  expect((await manage('PATCH', `/${id}`, { allowed_regions: 'eu,local' })).status).toBe(200);
});

test.each(['/no-id%00', '/no-id%00/audit', '?name=%00', '?cursor=%00', '/%00/rotate'])(
  'a NUL character in %s returns a validation error instead of 500',
  async (path) => {
    const { status } = await manage(path.endsWith('rotate') ? 'POST' : 'GET', path);
    expect([400, 404]).toContain(status);
  },
);

test('a malformed body is refused', async () => {
  expect(apiErrorOf(await manage('POST', '', {}))).toEqual([400, 'missing_fields', 'name']);
  expect(apiErrorOf(await manage('POST', '', '[]'))).toEqual([400, 'invalid_json', null]);
  expect(apiErrorOf(await manage('POST', '', '{"name":'))).toEqual([400, 'invalid_json', null]);
  expect(apiErrorOf(await manage('POST', '', '{"name":"x","metadata":{"__proto__":"y"}}'))).toEqual([
    400,
    'invalid_request',
    'metadata',
  ]);
  expect(apiErrorOf(await manage('POST', '', '{"name":"x","__proto__":{"kind":"root"}}'))).toEqual([
    400,
    'unsupported_parameter',
    '__proto__',
  ]);
  expect(apiErrorOf(await manage('POST', '', { name: 'x', kind: 'root' }))).toEqual([
    400,
    'unsupported_parameter',
    'kind',
  ]);
  expect(apiErrorOf(await manage('POST', '', { name: 'x', budget_period: 'daily' }))).toEqual([
    400,
    'invalid_request',
    'budget_limit',
  ]);
  const { id } = await createKey();
  expect(apiErrorOf(await manage('PATCH', `/${id}`, {}))).toEqual([400, 'missing_fields', null]);
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { user_id: 1 }))).toEqual([
    400,
    'unsupported_parameter',
    'user_id',
  ]);
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { status: 'revoked' }))).toEqual([
    400,
    'invalid_request',
    'status',
  ]);
  expect(apiErrorOf(await manage('PATCH', `/${id}`, { status: 'expired' }))).toEqual([
    400,
    'invalid_request',
    'status',
  ]);
});
