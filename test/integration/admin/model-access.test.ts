import { CatalogueService } from '#product/catalogue';
import { AdminHouse, type Visitor } from './admin-house';

let house: AdminHouse;
let ours: number;
let theirs: number;
let owner: Visitor;

beforeAll(async () => {
  house = await AdminHouse.open();
  [ours, theirs] = [await house.organisation('ours'), await house.organisation('theirs')];
  owner = await house.visitor('org_admin', ours);
  for (const model of ['openai/gpt', 'openai/mini', 'acme/one'])
    await house.admin.post('/dashboard/admin/models/create', { model, kind: 'chat', owned_by: 'tests' });
});
afterAll(() => house.close());

const openTo = async (organisationId: number, departmentId: number | null = null): Promise<string[]> => {
  const catalogue = house.app.application.get(CatalogueService);
  await catalogue.reload();
  const { snapshot } = catalogue;
  return snapshot.models
    .filter((model) => snapshot.isOpenTo(model, { organisationId, departmentId }))
    .map(({ name }) => name)
    .sort();
};
const all = ['acme/one', 'openai/gpt', 'openai/mini'];

test('an organisation switches models for itself alone', async () => {
  const toggle = (body: object) => owner.post('/dashboard/admin/models/domain-toggle', body);
  expect(await toggle({ model: 'acme/one', enabled: false })).toMatchObject({
    json: { org_id: ours, enabled: false },
  });
  expect(await openTo(ours)).toEqual(['openai/gpt', 'openai/mini']);
  expect(await openTo(theirs)).toEqual(all);
  expect(await toggle({ model: 'acme/one', enabled: true, org_id: theirs })).toMatchObject({ status: 404 });
  expect(await toggle({ model: 'nothing', enabled: true })).toMatchObject({
    status: 404,
    json: { code: 'model_not_found' },
  });
  expect(await toggle({ model: 'acme/one', enabled: 'perhaps' })).toMatchObject({ status: 422 });
  await toggle({ model: 'acme/one', enabled: true });
  expect(await openTo(ours)).toEqual(all);
  const [entry] = await house.entries('model.organisation-access-changed');
  expect(entry).toMatchObject({ object_label: 'acme/one', changes: { enabled: [false, true] } });
});

test('the platform takes a model from an organisation, which cannot take it back', async () => {
  const grant = (allowed: boolean) =>
    house.admin.post('/dashboard/admin/api/model-org-access', { model: 'acme/one', org_id: ours, allowed });
  await grant(false);
  expect(await openTo(ours)).toEqual(['openai/gpt', 'openai/mini']);
  await owner.post('/dashboard/admin/models/domain-toggle', { model: 'acme/one', enabled: true });
  expect(await openTo(ours)).toEqual(['openai/gpt', 'openai/mini']);
  await grant(true);
  expect(await openTo(ours)).toEqual(all);
  await house.admin.post('/dashboard/admin/models/update', { model: 'acme/one', restricted: true });
  expect([await openTo(ours), await openTo(theirs)]).toEqual([all, ['openai/gpt', 'openai/mini']]);
  await house.admin.post('/dashboard/admin/models/update', { model: 'acme/one', restricted: false });
});

test('policies with wildcards', async () => {
  const set = (body: object) => owner.post('/dashboard/admin/api/model-policy', body);
  expect((await owner.get('/dashboard/admin/api/model-policy')).json).toEqual({
    org_id: ours,
    mode: 'all',
    patterns: [],
    version: expect.any(String),
  });
  await set({ mode: 'allow', patterns: ['openai/*'] });
  expect(await openTo(ours)).toEqual(['openai/gpt', 'openai/mini']);
  await set({ mode: 'deny', patterns: ['*mini', 'acme/*'] });
  expect(await openTo(ours)).toEqual(['openai/gpt']);
  expect(await openTo(theirs)).toEqual(all);
  expect(await set({ mode: 'allow', patterns: [] })).toMatchObject({ status: 422 });
  expect(await set({ mode: 'allow', patterns: ['a b'] })).toMatchObject({ status: 422 });
  expect(await set({ mode: 'all', org_id: theirs })).toMatchObject({ status: 404 });
  expect((await house.admin.get(`/dashboard/admin/api/model-policy?org_id=${ours}`)).json).toMatchObject({
    mode: 'deny',
  });
  expect(await house.admin.get('/dashboard/admin/api/model-policy')).toMatchObject({ status: 422 });
  await set({ mode: 'all' });
  expect(await openTo(ours)).toEqual(all);
});

test('departments, of one’s own organisation only', async () => {
  const department = async (organisationId: number) => {
    const [row] = await house.app.database.query<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'lab') RETURNING id`,
      [organisationId],
    );
    return { id: row?.id ?? 0 };
  };
  const [own, foreign] = [await department(ours), await department(theirs)];
  const path = (id: number) => `/dashboard/admin/api/departments/${id}/model-access`;
  expect((await owner.get(path(own.id))).json).toMatchObject({ blocked: [] });
  await owner.post(path(own.id), { blocked: ['acme/one'] });
  expect(await openTo(ours, own.id)).toEqual(['openai/gpt', 'openai/mini']);
  await owner.post(path(own.id), { allowed: ['openai/gpt'], allowed_only: true });
  expect(await openTo(ours, own.id)).toEqual(['openai/gpt']);
  expect(await openTo(ours)).toEqual(all);
  expect(await owner.get(path(foreign.id))).toMatchObject({ status: 404 });
  expect(await owner.post(path(foreign.id), { blocked: ['acme/one'] })).toMatchObject({ status: 404 });
  expect(await owner.post(path(own.id), { blocked: ['nothing'] })).toMatchObject({ status: 404 });
});
