import { AdminHouse, type Json } from './admin-fixture';

/** Requirement: 422 answers `detail: [{loc, msg, type}]`, names fields of the request, and says what is expected. */

let fixture: AdminHouse;
beforeAll(async () => (fixture = await AdminHouse.open()));
afterAll(() => fixture.close());

const post = (path: string, body: object) => fixture.admin.post(path, body);

test.each([
  ['mode', 'unsupported_auto_mode'],
  ['algorithm', 'unsupported_autorouter_algorithm'],
])('an unknown %s returns 422 with a detail list', async (field, code) => {
  const { status, json } = await post('/dashboard/autorouter/user', { [field]: 'dice' });
  expect({ status, code: json['code'], param: json['param'] }).toEqual({ status: 422, code, param: field });
  expect(json['detail']).toEqual([
    {
      loc: ['body', field],
      msg: expect.stringMatching(new RegExp(`^${field} must be one of [\\w-]+(, [\\w-]+)*$`)) as string,
      type: 'isIn',
    },
  ]);
});

test('models/add-alias names the invalid field in its errors', async () => {
  const model = { kind: 'chat', owned_by: 'acme' };
  await post('/dashboard/admin/models/create', { ...model, model: 'first-model' });
  await post('/dashboard/admin/models/create', { ...model, model: 'second-model' });
  const add = (alias: string) => post('/dashboard/admin/models/add-alias', { alias, model: 'first-model' });
  expect(await add('~alias~')).toMatchObject({
    status: 422,
    json: { param: 'alias', detail: [{ loc: ['body', 'alias'] }] },
  });
  expect(await add('auto')).toMatchObject({ status: 409, json: { param: 'alias' } });
  expect(await add('second-model')).toMatchObject({ status: 409, json: { param: 'alias' } });
});

test('models/create names only the missing fields', async () => {
  const create = (body: object) => post('/dashboard/admin/models/create', { model: 'third-model', ...body });
  const missing = ({ json }: { json: Json }) => (json['detail'] as { loc: string[] }[]).map(({ loc }) => loc);
  expect(missing(await create({ kind: 'chat' }))).toEqual([['body', 'owned_by']]);
  expect(missing(await create({ owned_by: 'acme' }))).toEqual([['body', 'kind']]);
  expect(missing(await create({}))).toEqual([
    ['body', 'kind'],
    ['body', 'owned_by'],
  ]);
  expect(await create({ model: '~', kind: 'chat', owned_by: 'acme' })).toMatchObject({
    status: 422,
    json: { param: 'model' },
  });
});

test.each([
  ['/auth/register', { email: 'nobody', password: 'a password' }, 'email must be an email address'],
  [
    '/dashboard/admin/models/create',
    { model: 'a\u0001b' },
    'model must be a text without control or invisible characters',
  ],
  [
    '/dashboard/admin/organisations',
    { name: 'Acme', slug: 'Not a slug' },
    'slug must be 1 to 63 lowercase letters, digits and hyphens, with a letter or digit at both ends',
  ],
])('%s says what is expected instead of a regular expression', async (path, body, msg) => {
  const { status, json } = await post(path, body);
  expect(status).toBe(422);
  expect((json['detail'] as Json[]).map((issue) => issue['msg'])).toContain(msg);
});
