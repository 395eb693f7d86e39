import { AdminHouse, type Visitor } from './admin-fixture';

/** Bulk state changes of models, and the model access page. */
let fixture: AdminHouse;
let owner: Visitor;
let ownOrganisation: number;

beforeAll(async () => {
  fixture = await AdminHouse.open();
  ownOrganisation = await fixture.organisation('ours');
  owner = await fixture.visitor('org_owner', ownOrganisation);
  await fixture.app.database.query(`INSERT INTO department (organisation_id, name) VALUES ($1, 'Research')`, [
    ownOrganisation,
  ]);
  for (const model of ['one', 'two', 'three'])
    await fixture.admin.post('/dashboard/admin/models/create', { model, kind: 'chat', owned_by: 'tests' });
});
afterAll(() => fixture.close());

const BULK = '/dashboard/admin/models/bulk-state';
const states = async (): Promise<string[]> =>
  (
    await fixture.app.database.query<{ state: string }>(
      `SELECT state FROM model WHERE name IN ('one', 'two', 'three') ORDER BY name`,
    )
  ).map(({ state }) => state);

test('several models change state together, and the confirmation page can undo the change', async () => {
  await fixture.admin.post('/dashboard/admin/model-prices/state', { model: 'two', state: 'hidden' });
  const selection = new URLSearchParams([
    ['model', 'one'],
    ['model', 'two'],
    ['state', 'paused'],
    ['back', '/dashboard/admin/models?q=o'],
  ]);
  const page = await fixture.admin.form(BULK, selection);
  expect(page.status).toBe(200);
  expect(await states()).toEqual(['paused', 'active', 'paused']);
  const undo = new URLSearchParams(
    [...page.body.matchAll(/<input type="hidden" name="(model|state)" value="(\w+)">/g)].map(
      ([, name, value]): [string, string] => [name ?? '', value ?? ''],
    ),
  );
  expect((await fixture.admin.form(BULK, undo)).status).toBe(200);
  expect(await states()).toEqual(['active', 'active', 'hidden']);
  expect(await fixture.entries('model.state-changed')).toHaveLength(5);
});

test('a bulk change is atomic: an unknown model leaves the others unchanged', async () => {
  const statesBefore = await states();
  const unknownModelResponse = await fixture.admin.post(BULK, {
    model: ['one', 'absent'],
    state: ['paused'],
  });
  expect(unknownModelResponse.status).toBe(404);
  expect(await states()).toEqual(statesBefore);
  for (const body of [
    {},
    { model: [], state: ['paused'] },
    { model: ['one'], state: ['x'] },
    { model: ['one'] },
  ])
    expect([body, (await fixture.admin.post(BULK, body)).status]).toEqual([body, 422]);
  expect((await owner.post(BULK, { model: ['one'], state: ['paused'] })).status).toBe(403);
});

test('a bulk change without a selection returns an error that says so', async () => {
  const { body } = await fixture.admin.form(BULK, { _page: '/dashboard/admin/models', state: 'paused' });
  expect(body).toContain('Choose at least one.');
  expect(body).not.toContain('At most');
});

test('a connection test without provider and address names the missing input', async () => {
  const fields = { provider_id: '', upstream_model: 'one', region: 'eu' };
  const answer = await fixture.admin.form('/dashboard/admin/providers/test', fields);
  expect(answer.status).toBe(422);
  expect(answer.body).toContain('Something that is needed is missing.');
});

test('the list has checkboxes, drag handles and equivalent buttons', async () => {
  const { body } = await fixture.admin.page('/dashboard/admin/models');
  expect(body).toContain('data-reorder="one" draggable="true"');
  expect(body).toContain('form="bulk" name="model" value="one"');
  expect((await owner.page('/dashboard/admin/models')).body).not.toContain('data-reorder');
});

test('each role manages policy, grants and switches of its own organisation or department', async () => {
  const path = `/dashboard/admin/models/access?org_id=${ownOrganisation}`;
  const page = await fixture.admin.page(path);
  expect(page.status).toBe(200);
  for (const action of ['api/model-policy', 'api/model-org-access', 'models/domain-toggle'])
    expect(page.body).toContain(`action="/dashboard/admin/${action}"`);
  const refusal = await fixture.admin.form('/dashboard/admin/api/model-org-access', {
    model: 'one',
    org_id: String(ownOrganisation),
    allowed: 'off',
    back: path,
  });
  expect([refusal.status, refusal.headers['location']]).toEqual([303, path]);
  expect((await fixture.admin.page(`${path}&q=one`)).body).toContain('Grant one to the organisation');

  await fixture.admin.post('/dashboard/admin/model-prices/state', { model: 'two', state: 'active' });
  const ownPage = await owner.page('/dashboard/admin/models/access');
  expect(ownPage.status).toBe(200);
  expect(ownPage.body).toContain('action="/dashboard/admin/api/model-policy"');
  expect(ownPage.body).not.toContain('model-org-access');
  const [department] = await fixture.app.database.query<{ id: number }>('SELECT id FROM department');
  const departmentPage = await owner.page(`/dashboard/admin/models/access?dept_id=${department?.id ?? 0}`);
  expect(departmentPage.body).toContain(
    `action="/dashboard/admin/api/departments/${department?.id ?? 0}/model-access"`,
  );
  await owner.form(`/dashboard/admin/api/departments/${department?.id ?? 0}/model-access`, {
    blocked: 'two',
  });
  const rows = await fixture.app.database.query('SELECT allowed FROM department_model_access');
  expect(rows).toEqual([{ allowed: false }]);

  await fixture.app.database.query(`UPDATE model SET restricted = true WHERE name = 'three'`);
  expect((await fixture.admin.page(path)).body).toContain('value="three"');
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

  const otherOrganisation = await fixture.organisation('theirs');
  expect((await owner.page(`/dashboard/admin/models/access?org_id=${otherOrganisation}`)).status).toBe(404);
  const stranger = await fixture.visitor('org_admin', otherOrganisation);
  const otherPath = `/dashboard/admin/models/access?dept_id=${department?.id ?? 0}`;
  expect((await stranger.page(otherPath)).status).toBe(404);
  expect((await (await fixture.visitor('user', ownOrganisation)).page(path)).status).toBe(403);
});
