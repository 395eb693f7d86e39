import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { openPage, sendJson } from '../web/from-page';

let app: TestApp;
let ours: number;
let theirs: number;

const person = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const post = (path: string, cookie: string, form: object) => sendJson({ url: app.url, cookie }, path, form);
const quality = '/dashboard/qualitative/settings';
const organisation = '/dashboard/admin/autorouter/org';
const key = '/dashboard/admin/autorouter/api-key';
const page = async (cookie: string) => (await openPage({ url: app.url, cookie }, quality)).body;
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
  [ours, theirs] = rows.map(({ id }) => id) as [number, number];
});
afterAll(() => app.close());

test('settings of quality are stored for the organisation, and on record', async () => {
  const { cookie } = await person('org_admin', ours);
  expect(await page(cookie)).toContain('What is done with content.');
  const { status, json } = await post(quality, cookie, { availability: 'admins', sampling_percent: '5' });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    ok: true,
    engine: 'on',
    org_id: ours,
    settings: { availability: 'admins', sampling_percent: 5, content_retention_days: 0, redaction: true },
  });
  expect(await page(cookie)).toMatch(/value="admins" selected/);
  expect((await post(quality, cookie, { redaction: 'off' })).json).toMatchObject({
    settings: { availability: 'admins', redaction: false },
  });
  expect((await post(quality, cookie, { redaction: 'off' })).status).toBe(200);
  expect(await entries(ours)).toEqual([
    {
      action: 'qualitative.settings-changed',
      changes: { availability: ['off', 'admins'], sampling_percent: [0, 5] },
    },
    { action: 'qualitative.settings-changed', changes: { redaction: [true, false] } },
  ]);
  expect(await page((await person('org_admin', theirs)).cookie)).toMatch(/value="off" selected/);
});

test('automatic routing is set by organisation and by key', async () => {
  const { cookie, userId } = await person('org_owner', theirs);
  expect((await post(organisation, cookie, { mode: 'shadow', dial: 7 })).json).toMatchObject({
    org_id: theirs,
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
  const stranger = await person('org_owner', ours);
  expect((await post(key, stranger.cookie, { key_id: id, mode: 'off' })).status).toBe(404);
  expect((await post(organisation, stranger.cookie, { org_id: theirs, mode: 'off' })).status).toBe(404);
  expect((await entries(theirs)).map(({ action }) => action)).toEqual([
    'autorouter.changed',
    'autorouter.changed',
    'autorouter.changed',
  ]);
});

test('the platform sets its own and those of any organisation', async () => {
  const { cookie } = await person('platform_admin');
  expect((await post(organisation, cookie, { mode: 'on' })).json).toMatchObject({ org_id: null });
  expect((await post(organisation, cookie, { org_id: ours, mode: 'on' })).json).toMatchObject({
    org_id: ours,
  });
  expect((await post(organisation, cookie, { org_id: 2_147_483_647, mode: 'on' })).status).toBe(404);
});

test.each([
  [quality, { availability: 'some' }],
  [quality, { content_retention_days: 31 }],
  [quality, { sampling_percent: -1 }],
  [quality, { role: 'platform_owner' }],
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
  const { cookie } = await person('org_owner', ours);
  expect((await post(path, cookie, form)).status).toBe(422);
});

test('a role below may not', async () => {
  const { cookie } = await person('department_admin', ours);
  expect((await post(quality, cookie, {})).status).toBe(403);
  expect((await post(organisation, cookie, {})).status).toBe(403);
  expect((await post(key, (await person('user', ours)).cookie, { key_id: 1 })).status).toBe(403);
});
