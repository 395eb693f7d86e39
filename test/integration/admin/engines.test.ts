import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { openPage, sendJson } from '../web/page-requests';

let app: TestApp;
let ownOrganisation: number;
let otherOrganisation: number;

const signInAs = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const post = (path: string, cookie: string, form: object) => sendJson({ url: app.url, cookie }, path, form);
const qualityPath = '/dashboard/qualitative/settings';
const organisation = '/dashboard/admin/autorouter/org';
const key = '/dashboard/admin/autorouter/api-key';
const page = async (cookie: string) => (await openPage({ url: app.url, cookie }, qualityPath)).body;
const entries = (organisationId: number) =>
  app.database.query<{ action: string; changes: object }>(
    'SELECT action, changes FROM activity WHERE organisation_id = $1 ORDER BY id',
    [organisationId],
  );

beforeAll(async () => {
  app = await startTestApp();
  const organisations = app.database.source.getRepository(Organisation);
  const rows = ['ours', 'theirs'].map((slug) => organisations.create({ name: slug, slug }));
  await organisations.insert(rows);
  [ownOrganisation, otherOrganisation] = rows.map(({ id }) => id) as [number, number];
});
afterAll(() => app.close());

test('quality settings are stored per organisation and logged', async () => {
  const { cookie } = await signInAs('org_admin', ownOrganisation);
  expect(await page(cookie)).toContain('What is done with content.');
  const { status, json } = await post(qualityPath, cookie, { availability: 'admins', sampling_percent: '5' });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    ok: true,
    engine: 'on',
    org_id: ownOrganisation,
    settings: { availability: 'admins', sampling_percent: 5, content_retention_days: 0, redaction: true },
  });
  expect(await page(cookie)).toMatch(/value="admins" selected/);
  expect((await post(qualityPath, cookie, { redaction: 'off' })).json).toMatchObject({
    settings: { availability: 'admins', redaction: false },
  });
  expect((await post(qualityPath, cookie, { redaction: 'off' })).status).toBe(200);
  expect(await entries(ownOrganisation)).toEqual([
    {
      action: 'qualitative.settings-changed',
      changes: { availability: ['off', 'admins'], sampling_percent: [0, 5] },
    },
    { action: 'qualitative.settings-changed', changes: { redaction: [true, false] } },
  ]);
  expect(await page((await signInAs('org_admin', otherOrganisation)).cookie)).toMatch(/value="off" selected/);
});

test('automatic routing is set per organisation and per key', async () => {
  const { cookie, userId } = await signInAs('org_owner', otherOrganisation);
  expect((await post(organisation, cookie, { mode: 'shadow', dial: 7 })).json).toMatchObject({
    org_id: otherOrganisation,
    settings: { mode: 'shadow', dial: 7, algorithm: 'hkb-v1', locked: false },
    effective: { mode: 'shadow', dial: 7, source_level: 'organisation', locked_by: null },
  });
  const { id } = await addKey(app, userId);
  expect((await post(key, cookie, { key_id: id, mode: 'on', locked: true })).json).toMatchObject({
    key_id: id,
    settings: { mode: 'on', dial: 5, locked: true },
    effective: { mode: 'on', locked_by: 'key' },
  });
  expect(await page(cookie)).toMatch(/value="shadow" selected/);
  expect((await post(organisation, cookie, { dial: '', include: 'sim-*, other' })).json).toMatchObject({
    settings: { mode: 'shadow', dial: 5, include: ['sim-*', 'other'] },
    effective: { dial: 5, include: [['sim-*', 'other']] },
  });
  expect(await page(cookie)).toMatch(/name="include"[^>]* value="sim-\*, other"/);
  const stranger = await signInAs('org_owner', ownOrganisation);
  expect((await post(key, stranger.cookie, { key_id: id, mode: 'off' })).status).toBe(404);
  expect((await post(organisation, stranger.cookie, { org_id: otherOrganisation, mode: 'off' })).status).toBe(
    404,
  );
  expect((await entries(otherOrganisation)).map(({ action }) => action)).toEqual([
    'autorouter.changed',
    'autorouter.changed',
    'autorouter.changed',
  ]);
});

test('the platform changes its own settings and those of any organisation', async () => {
  const { cookie } = await signInAs('platform_admin');
  expect((await post(organisation, cookie, { mode: 'on' })).json).toMatchObject({ org_id: null });
  expect((await post(organisation, cookie, { org_id: ownOrganisation, mode: 'on' })).json).toMatchObject({
    org_id: ownOrganisation,
  });
  expect((await post(organisation, cookie, { org_id: 2_147_483_647, mode: 'on' })).status).toBe(404);
});

test.each([
  [qualityPath, { availability: 'some' }],
  [qualityPath, { content_retention_days: 31 }],
  [qualityPath, { sampling_percent: -1 }],
  [qualityPath, { role: 'platform_owner' }],
  [organisation, { mode: 'auto' }],
  [organisation, { algorithm: 'guess' }],
  [organisation, { dial: 11 }],
  [organisation, { locked: 'perhaps' }],
  [organisation, { reference_model: 'absent' }],
  [organisation, { include: 'a b<script>' }],
  [organisation, { min_quality: 1.1 }],
  [organisation, { max_cost_per_request: '0.00' }],
  [organisation, { max_cost_per_request: 'much' }],
  [organisation, { latency_target_ms: 0 }],
  [organisation, { stickiness_minutes: 1441 }],
  [key, { mode: 'on' }],
  [key, { key_id: 'x' }],
])('%s refuses %j', async (path, form) => {
  const { cookie } = await signInAs('org_owner', ownOrganisation);
  expect((await post(path, cookie, form)).status).toBe(422);
});

test('a lower role cannot change the settings', async () => {
  const { cookie } = await signInAs('department_admin', ownOrganisation);
  expect((await post(qualityPath, cookie, {})).status).toBe(403);
  expect((await post(organisation, cookie, {})).status).toBe(403);
  expect((await post(key, (await signInAs('user', ownOrganisation)).cookie, { key_id: 1 })).status).toBe(403);
});
