import { Organisation, UserAccount } from '#product/identity';
import { CatalogueService } from '#product/catalogue';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { sendJson } from '../web/page-requests';

let app: TestApp;
let organisationId: number;

interface SettingsResult {
  readonly settings: Record<string, unknown>;
  readonly effective: Record<string, unknown> & { readonly sources: Record<string, string> };
  readonly code?: string;
}

const signInAs = async (role: 'user' | 'org_admin' = 'user') => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const post = (path: string, cookie: string, form: object) =>
  sendJson<SettingsResult>({ url: app.url, cookie }, path, form);
const userPath = '/dashboard/autorouter/user';
const keyPath = '/dashboard/autorouter/api-key';
const organisationPath = '/dashboard/admin/autorouter/org';
const anyKeyPath = '/dashboard/admin/autorouter/api-key';

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

test('the narrowest level wins, limits only tighten, and the response names the source of each value', async () => {
  const admin = await signInAs('org_admin');
  const { cookie, userId } = await signInAs();
  const { id } = await addKey(app, userId);
  await post(organisationPath, admin.cookie, {
    mode: 'on',
    dial: 2,
    min_quality: 0.5,
    max_cost_per_request: '0.10',
    include: ['sim-*'],
  });
  await post(userPath, cookie, { dial: 7, min_quality: 0.4, max_cost_per_request: 1, exclude: 'sim-large' });
  const { status, json } = await post(keyPath, cookie, { key_id: id, dial: 9, include: 'sim-small' });
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
  const resetAnswer = await post(keyPath, cookie, { key_id: id, dial: null, include: '' });
  expect(resetAnswer.json.effective).toMatchObject({
    dial: 7,
    include: [['sim-*']],
    sources: { dial: 'user' },
  });
});

test('a locked level cannot be overridden by users or for keys', async () => {
  const admin = await signInAs('org_admin');
  const { cookie, userId } = await signInAs();
  const key = await addKey(app, userId);
  await post(keyPath, cookie, { key_id: key.id, dial: 9 });
  await post(anyKeyPath, admin.cookie, { key_id: key.id, locked: true });
  const refusal = await post(keyPath, cookie, { key_id: key.id, dial: 1 });
  expect([refusal.status, refusal.json.code]).toEqual([403, 'permission_denied']);
  const { json } = await post(organisationPath, admin.cookie, { dial: 3, locked: true });
  expect(json.effective).toMatchObject({ dial: 3, locked_by: 'organisation' });
  expect((await post(userPath, cookie, { dial: 1 })).status).toBe(403);
  const lockedAnswer = await post(anyKeyPath, admin.cookie, { key_id: key.id, dial: 10 });
  expect(lockedAnswer.json.effective).toMatchObject({ dial: 3, locked_by: 'organisation' });
});

test('the lock of a user or an organisation does not remove the lock or the limits of a key', async () => {
  const admin = await signInAs('org_admin');
  const { cookie, userId } = await signInAs();
  const key = await addKey(app, userId);
  const strictSettings = { mode: 'off', exclude: 'gpt-*', max_cost_per_request: '0.01', min_quality: 0.9 };
  await post(anyKeyPath, admin.cookie, { key_id: key.id, ...strictSettings, locked: true });
  expect((await post(userPath, cookie, { locked: true, mode: 'on', dial: 9 })).status).toBe(200);
  const limits = { exclude: ['gpt-*'], max_cost_per_request: '0.01', min_quality: 0.9 };
  const lockedAnswer = await post(anyKeyPath, admin.cookie, { key_id: key.id, dial: 2 });
  expect(lockedAnswer.json.effective).toMatchObject({ mode: 'off', dial: 2, locked_by: 'key', ...limits });
  expect((await post(keyPath, cookie, { key_id: key.id, mode: 'on' })).status).toBe(403);
  await post(anyKeyPath, admin.cookie, { key_id: key.id, locked: false });
  const unlockedAnswer = await post(anyKeyPath, admin.cookie, { key_id: key.id, dial: 3 });
  expect(unlockedAnswer.json.effective).toMatchObject({ mode: 'on', dial: 9, locked_by: 'user', ...limits });
  await post(organisationPath, admin.cookie, { mode: 'shadow', locked: true });
  const organisationLocked = await post(anyKeyPath, admin.cookie, { key_id: key.id, dial: 4 });
  expect(organisationLocked.json.effective).toMatchObject({
    mode: 'shadow',
    locked_by: 'organisation',
    ...limits,
  });
});

test('only administrators lock a key, and a key of another user returns 404', async () => {
  const { cookie, userId } = await signInAs();
  const { id } = await addKey(app, userId);
  expect((await post(keyPath, cookie, { key_id: id, locked: true })).status).toBe(403);
  expect((await post(keyPath, cookie, { key_id: id, mode: 'off' })).json.settings).toMatchObject({
    mode: 'off',
  });
  const otherUser = await signInAs();
  expect((await post(keyPath, otherUser.cookie, { key_id: id, mode: 'on' })).status).toBe(404);
});

test('every change is logged, and a request without a change is not', async () => {
  const { cookie, userId } = await signInAs();
  for (const dial of [4, 4, 6]) expect((await post(userPath, cookie, { dial })).status).toBe(200);
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
  const { cookie } = await signInAs();
  const { status, json } = await post(userPath, cookie, form);
  expect([status, json.code]).toEqual([422, code]);
});

test('a restricted model gets the same error as a model that does not exist', async () => {
  const [model] = app.application.get(CatalogueService).snapshot.models;
  const { cookie } = await signInAs();
  expect((await post(userPath, cookie, { reference_model: model?.name })).status).toBe(200);
  await app.database.query('UPDATE model SET restricted = true WHERE id = $1', [model?.id]);
  await app.application.get(CatalogueService).reload();
  expect((await post(userPath, cookie, { reference_model: model?.name })).status).toBe(422);
});
