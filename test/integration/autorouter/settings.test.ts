import { Organisation, UserAccount } from '#product/identity';
import { CatalogueService } from '#product/catalogue';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { sendJson } from '../web/from-page';

let app: TestApp;
let organisationId: number;

interface Stored {
  readonly settings: Record<string, unknown>;
  readonly effective: Record<string, unknown> & { readonly sources: Record<string, string> };
  readonly code?: string;
}

const person = async (role: 'user' | 'org_admin' = 'user') => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const post = (path: string, cookie: string, form: object) =>
  sendJson<Stored>({ url: app.url, cookie }, path, form);
const own = '/dashboard/autorouter/user';
const ownKey = '/dashboard/autorouter/api-key';
const ofOrganisation = '/dashboard/admin/autorouter/org';
const ofAnyKey = '/dashboard/admin/autorouter/api-key';

beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());
beforeEach(async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const slug = `o${Math.random().toString(36).slice(2)}`;
  const row = organisations.create({ name: slug, slug });
  await organisations.insert(row);
  organisationId = row.id;
});

test('the narrowest level decides, limits only tighten, and the answer says where each comes from', async () => {
  const admin = await person('org_admin');
  const { cookie, userId } = await person();
  const { id } = await addKey(app, userId);
  await post(ofOrganisation, admin.cookie, {
    mode: 'on',
    dial: 2,
    min_quality: 0.5,
    max_cost_per_request: '0.10',
    include: ['sim-*'],
  });
  await post(own, cookie, { dial: 7, min_quality: 0.4, max_cost_per_request: 1, exclude: 'sim-large' });
  const { status, json } = await post(ownKey, cookie, { key_id: id, dial: 9, include: 'sim-small' });
  expect(status).toBe(200);
  expect(json.effective).toMatchObject({
    mode: 'on',
    dial: 9,
    min_quality: 0.5,
    max_cost_per_request: '0.1',
    include: [['sim-*'], ['sim-small']],
    exclude: ['sim-large'],
    source_level: 'key',
    locked_by: null,
    sources: { mode: 'organisation', dial: 'key', min_quality: 'organisation' },
  });
  const back = await post(ownKey, cookie, { key_id: id, dial: null, include: '' });
  expect(back.json.effective).toMatchObject({ dial: 7, include: [['sim-*']], sources: { dial: 'user' } });
});

test('a locked level is not differed from: by people nor for keys', async () => {
  const admin = await person('org_admin');
  const { cookie, userId } = await person();
  const key = await addKey(app, userId);
  await post(ownKey, cookie, { key_id: key.id, dial: 9 });
  await post(ofAnyKey, admin.cookie, { key_id: key.id, locked: true });
  const refusal = await post(ownKey, cookie, { key_id: key.id, dial: 1 });
  expect([refusal.status, refusal.json.code]).toEqual([403, 'permission_denied']);
  const { json } = await post(ofOrganisation, admin.cookie, { dial: 3, locked: true });
  expect(json.effective).toMatchObject({ dial: 3, locked_by: 'organisation' });
  expect((await post(own, cookie, { dial: 1 })).status).toBe(403);
  const held = await post(ofAnyKey, admin.cookie, { key_id: key.id, dial: 10 });
  expect(held.json.effective).toMatchObject({ dial: 3, locked_by: 'organisation' });
});

test('a person’s own lock undoes no lock and no limit of a key; nor does the organisation’s', async () => {
  const admin = await person('org_admin');
  const { cookie, userId } = await person();
  const key = await addKey(app, userId);
  const strict = { mode: 'off', exclude: 'gpt-*', max_cost_per_request: '0.01', min_quality: 0.9 };
  await post(ofAnyKey, admin.cookie, { key_id: key.id, ...strict, locked: true });
  expect((await post(own, cookie, { locked: true, mode: 'on', dial: 9 })).status).toBe(200);
  const limits = { exclude: ['gpt-*'], max_cost_per_request: '0.01', min_quality: 0.9 };
  const locked = await post(ofAnyKey, admin.cookie, { key_id: key.id, dial: 2 });
  expect(locked.json.effective).toMatchObject({ mode: 'off', dial: 2, locked_by: 'key', ...limits });
  expect((await post(ownKey, cookie, { key_id: key.id, mode: 'on' })).status).toBe(403);
  await post(ofAnyKey, admin.cookie, { key_id: key.id, locked: false });
  const open = await post(ofAnyKey, admin.cookie, { key_id: key.id, dial: 3 });
  expect(open.json.effective).toMatchObject({ mode: 'on', dial: 9, locked_by: 'user', ...limits });
  await post(ofOrganisation, admin.cookie, { mode: 'shadow', locked: true });
  const all = await post(ofAnyKey, admin.cookie, { key_id: key.id, dial: 4 });
  expect(all.json.effective).toMatchObject({ mode: 'shadow', locked_by: 'organisation', ...limits });
});

test('a key is locked by administrators alone, and a foreign key is not there', async () => {
  const { cookie, userId } = await person();
  const { id } = await addKey(app, userId);
  expect((await post(ownKey, cookie, { key_id: id, locked: true })).status).toBe(403);
  expect((await post(ownKey, cookie, { key_id: id, mode: 'off' })).json.settings).toMatchObject({
    mode: 'off',
  });
  const stranger = await person();
  expect((await post(ownKey, stranger.cookie, { key_id: id, mode: 'on' })).status).toBe(404);
});

test('every change is on record, and one that changes nothing is none', async () => {
  const { cookie, userId } = await person();
  for (const dial of [4, 4, 6]) expect((await post(own, cookie, { dial })).status).toBe(200);
  const entries = await app.database.query<{ action: string; changes: object }>(
    'SELECT action, changes FROM activity WHERE user_id = $1 ORDER BY id',
    [userId],
  );
  expect(entries).toEqual([
    { action: 'autorouter.changed', changes: { dial: [null, 4] } },
    { action: 'autorouter.changed', changes: { dial: [4, 6] } },
  ]);
});

test.each([
  [{ mode: 'sometimes' }, 'unsupported_auto_mode'],
  [{ algorithm: 'dice' }, 'unsupported_autorouter_algorithm'],
  [{ dial: 1.5 }, 'validation_error'],
  [{ reference_model: 'absent' }, 'validation_error'],
  [{ fallback_model: 'absent' }, 'validation_error'],
  [{ include: [7] }, 'validation_error'],
  [{ exclude: Array.from({ length: 201 }, (_, at) => `m${at}`) }, 'validation_error'],
  [{ max_cost_per_request: -1 }, 'validation_error'],
  [{ stickiness: 'maybe' }, 'validation_error'],
  [{ unknown: 1 }, 'validation_error'],
])('refuses %j', async (form, code) => {
  const { cookie } = await person();
  const { status, json } = await post(own, cookie, form);
  expect([status, json.code]).toEqual([422, code]);
});

test('a model that is closed to them cannot be told from one that does not exist', async () => {
  const [model] = app.application.get(CatalogueService).snapshot.models;
  const { cookie } = await person();
  expect((await post(own, cookie, { reference_model: model?.name })).status).toBe(200);
  await app.database.query('UPDATE model SET restricted = true WHERE id = $1', [model?.id]);
  await app.application.get(CatalogueService).reload();
  expect((await post(own, cookie, { reference_model: model?.name })).status).toBe(422);
});
