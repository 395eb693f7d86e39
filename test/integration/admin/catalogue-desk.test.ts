import { AdminHouse, type Visitor } from './admin-house';

/** An administrator changes many models at once, and the page of who may use them. */
let house: AdminHouse;
let owner: Visitor;
let ours: number;

beforeAll(async () => {
  house = await AdminHouse.open();
  ours = await house.organisation('ours');
  owner = await house.visitor('org_owner', ours);
  await house.app.database.query(`INSERT INTO department (organisation_id, name) VALUES ($1, 'Research')`, [
    ours,
  ]);
  for (const model of ['one', 'two', 'three'])
    await house.admin.post('/dashboard/admin/models/create', { model, kind: 'chat', owned_by: 'tests' });
});
afterAll(() => house.close());

const BULK = '/dashboard/admin/models/bulk-state';
const states = async (): Promise<string[]> =>
  (
    await house.app.database.query<{ state: string }>(
      `SELECT state FROM model WHERE name IN ('one', 'two', 'three') ORDER BY name`,
    )
  ).map(({ state }) => state);

test('several models take one state, and the page that says so takes it back', async () => {
  await house.admin.post('/dashboard/admin/model-prices/state', { model: 'two', state: 'hidden' });
  const chosen = new URLSearchParams([
    ['model', 'one'],
    ['model', 'two'],
    ['state', 'paused'],
    ['back', '/dashboard/admin/models?q=o'],
  ]);
  const page = await house.admin.form(BULK, chosen);
  expect(page.status).toBe(200);
  expect(await states()).toEqual(['paused', 'active', 'paused']);
  const undo = new URLSearchParams(
    [...page.body.matchAll(/<input type="hidden" name="(model|state)" value="(\w+)">/g)].map(
      ([, name, value]): [string, string] => [name ?? '', value ?? ''],
    ),
  );
  expect((await house.admin.form(BULK, undo)).status).toBe(200);
  expect(await states()).toEqual(['active', 'active', 'hidden']);
  expect(await house.entries('model.state-changed')).toHaveLength(5);
});

test('all of them or none: one that is unknown undoes the others', async () => {
  const before = await states();
  const unknown = await house.admin.post(BULK, { model: ['one', 'absent'], state: ['paused'] });
  expect(unknown.status).toBe(404);
  expect(await states()).toEqual(before);
  for (const body of [
    {},
    { model: [], state: ['paused'] },
    { model: ['one'], state: ['x'] },
    { model: ['one'] },
  ])
    expect([body, (await house.admin.post(BULK, body)).status]).toEqual([body, 422]);
  expect((await owner.post(BULK, { model: ['one'], state: ['paused'] })).status).toBe(403);
});

test('who chooses nothing is told just that', async () => {
  const { body } = await house.admin.form(BULK, { _page: '/dashboard/admin/models', state: 'paused' });
  expect(body).toContain('Choose at least one.');
  expect(body).not.toContain('At most');
});

test('a test of a connection without a provider and its address says what is missing', async () => {
  const fields = { provider_id: '', upstream_model: 'one', region: 'eu' };
  const answer = await house.admin.form('/dashboard/admin/providers/test', fields);
  expect(answer.status).toBe(422);
  expect(answer.body).toContain('Something that is needed is missing.');
});

test('the list offers rows to choose and to drag, and buttons for the same', async () => {
  const { body } = await house.admin.page('/dashboard/admin/models');
  expect(body).toContain('data-reorder="one" draggable="true"');
  expect(body).toContain('form="bulk" name="model" value="one"');
  expect((await owner.page('/dashboard/admin/models')).body).not.toContain('data-reorder');
});

test('access: policy, grants and switches of an organisation, and its departments, each by its own role', async () => {
  const path = `/dashboard/admin/models/access?org_id=${ours}`;
  const page = await house.admin.page(path);
  expect(page.status).toBe(200);
  for (const action of ['api/model-policy', 'api/model-org-access', 'models/domain-toggle'])
    expect(page.body).toContain(`action="/dashboard/admin/${action}"`);
  const refused = await house.admin.form('/dashboard/admin/api/model-org-access', {
    model: 'one',
    org_id: String(ours),
    allowed: 'off',
    back: path,
  });
  expect([refused.status, refused.headers['location']]).toEqual([303, path]);
  expect((await house.admin.page(`${path}&q=one`)).body).toContain('Grant one to the organisation');

  await house.admin.post('/dashboard/admin/model-prices/state', { model: 'two', state: 'active' });
  const own = await owner.page('/dashboard/admin/models/access');
  expect(own.status).toBe(200);
  expect(own.body).toContain('action="/dashboard/admin/api/model-policy"');
  expect(own.body).not.toContain('model-org-access');
  const [department] = await house.app.database.query<{ id: number }>('SELECT id FROM department');
  const inside = await owner.page(`/dashboard/admin/models/access?dept_id=${department?.id ?? 0}`);
  expect(inside.body).toContain(
    `action="/dashboard/admin/api/departments/${department?.id ?? 0}/model-access"`,
  );
  await owner.form(`/dashboard/admin/api/departments/${department?.id ?? 0}/model-access`, {
    blocked: 'two',
  });
  const rows = await house.app.database.query('SELECT allowed FROM department_model_access');
  expect(rows).toEqual([{ allowed: false }]);

  await house.app.database.query(`UPDATE model SET restricted = true WHERE name = 'three'`);
  expect((await house.admin.page(path)).body).toContain('value="three"');
  for (const address of [
    '/dashboard/admin/models/access',
    `/dashboard/admin/api/departments/${department?.id ?? 0}/model-access`,
  ]) {
    const { body } = await owner.page(address);
    expect([address, body.includes('"three"')]).toEqual([address, false]);
  }
  for (const model of ['three', 'absent'])
    expect(
      await owner.post('/dashboard/admin/models/domain-toggle', { model, enabled: false }),
    ).toMatchObject({
      status: 404,
      json: { code: 'model_not_found' },
    });

  const theirs = await house.organisation('theirs');
  expect((await owner.page(`/dashboard/admin/models/access?org_id=${theirs}`)).status).toBe(404);
  const stranger = await house.visitor('org_admin', theirs);
  const foreign = `/dashboard/admin/models/access?dept_id=${department?.id ?? 0}`;
  expect((await stranger.page(foreign)).status).toBe(404);
  expect((await (await house.visitor('user', ours)).page(path)).status).toBe(403);
});
