import { CatalogueService } from '#product/catalogue';
import { AdminHouse, type Visitor } from './admin-fixture';

let fixture: AdminHouse;
let ownOrganisation: number;
let otherOrganisation: number;
let owner: Visitor;

beforeAll(async () => {
  fixture = await AdminHouse.open();
  [ownOrganisation, otherOrganisation] = [
    await fixture.organisation('ours'),
    await fixture.organisation('theirs'),
  ];
  owner = await fixture.visitor('org_admin', ownOrganisation);
  for (const model of ['openai/gpt', 'openai/mini', 'acme/one'])
    await fixture.admin.post('/dashboard/admin/models/create', { model, kind: 'chat', owned_by: 'tests' });
});
afterAll(() => fixture.close());

const modelsFor = async (organisationId: number, departmentId: number | null = null): Promise<string[]> => {
  const catalogue = fixture.app.application.get(CatalogueService);
  await catalogue.reload();
  const { snapshot } = catalogue;
  return snapshot.models
    .filter((model) => snapshot.isOpenTo(model, { organisationId, departmentId }))
    .map(({ name }) => name)
    .sort();
};
const allModels = ['acme/one', 'openai/gpt', 'openai/mini'];

test('an organisation switches models off for itself only', async () => {
  const toggleModel = (body: object) => owner.post('/dashboard/admin/models/domain-toggle', body);
  expect(await toggleModel({ model: 'acme/one', enabled: false })).toMatchObject({
    json: { org_id: ownOrganisation, enabled: false },
  });
  expect(await modelsFor(ownOrganisation)).toEqual(['openai/gpt', 'openai/mini']);
  expect(await modelsFor(otherOrganisation)).toEqual(allModels);
  expect(await toggleModel({ model: 'acme/one', enabled: true, org_id: otherOrganisation })).toMatchObject({
    status: 404,
  });
  expect(await toggleModel({ model: 'nothing', enabled: true })).toMatchObject({
    status: 404,
    json: { code: 'model_not_found' },
  });
  expect(await toggleModel({ model: 'acme/one', enabled: 'perhaps' })).toMatchObject({ status: 422 });
  await toggleModel({ model: 'acme/one', enabled: true });
  expect(await modelsFor(ownOrganisation)).toEqual(allModels);
  const [entry] = await fixture.entries('model.organisation-access-changed');
  expect(entry).toMatchObject({ object_label: 'acme/one', changes: { enabled: [false, true] } });
});

test('a model that the platform denies to an organisation cannot be re-enabled by it', async () => {
  const grant = (allowed: boolean) =>
    fixture.admin.post('/dashboard/admin/api/model-org-access', {
      model: 'acme/one',
      org_id: ownOrganisation,
      allowed,
    });
  await grant(false);
  expect(await modelsFor(ownOrganisation)).toEqual(['openai/gpt', 'openai/mini']);
  await owner.post('/dashboard/admin/models/domain-toggle', { model: 'acme/one', enabled: true });
  expect(await modelsFor(ownOrganisation)).toEqual(['openai/gpt', 'openai/mini']);
  await grant(true);
  expect(await modelsFor(ownOrganisation)).toEqual(allModels);
  await fixture.admin.post('/dashboard/admin/models/update', { model: 'acme/one', restricted: true });
  expect([await modelsFor(ownOrganisation), await modelsFor(otherOrganisation)]).toEqual([
    allModels,
    ['openai/gpt', 'openai/mini'],
  ]);
  await fixture.admin.post('/dashboard/admin/models/update', { model: 'acme/one', restricted: false });
});

test('model policies support wildcards', async () => {
  const setPolicy = (body: object) => owner.post('/dashboard/admin/api/model-policy', body);
  expect((await owner.get('/dashboard/admin/api/model-policy')).json).toEqual({
    org_id: ownOrganisation,
    mode: 'all',
    patterns: [],
    version: expect.any(String),
  });
  await setPolicy({ mode: 'allow', patterns: ['openai/*'] });
  expect(await modelsFor(ownOrganisation)).toEqual(['openai/gpt', 'openai/mini']);
  await setPolicy({ mode: 'deny', patterns: ['*mini', 'acme/*'] });
  expect(await modelsFor(ownOrganisation)).toEqual(['openai/gpt']);
  expect(await modelsFor(otherOrganisation)).toEqual(allModels);
  expect(await setPolicy({ mode: 'allow', patterns: [] })).toMatchObject({ status: 422 });
  expect(await setPolicy({ mode: 'allow', patterns: ['a b'] })).toMatchObject({ status: 422 });
  expect(await setPolicy({ mode: 'all', org_id: otherOrganisation })).toMatchObject({ status: 404 });
  expect(
    (await fixture.admin.get(`/dashboard/admin/api/model-policy?org_id=${ownOrganisation}`)).json,
  ).toMatchObject({
    mode: 'deny',
  });
  expect(await fixture.admin.get('/dashboard/admin/api/model-policy')).toMatchObject({ status: 422 });
  await setPolicy({ mode: 'all' });
  expect(await modelsFor(ownOrganisation)).toEqual(allModels);
});

test('model access is set only for departments of the own organisation', async () => {
  const department = async (organisationId: number) => {
    const [row] = await fixture.app.database.query<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'lab') RETURNING id`,
      [organisationId],
    );
    return { id: row?.id ?? 0 };
  };
  const [own, foreign] = [await department(ownOrganisation), await department(otherOrganisation)];
  const path = (id: number) => `/dashboard/admin/api/departments/${id}/model-access`;
  expect((await owner.get(path(own.id))).json).toMatchObject({ blocked: [] });
  await owner.post(path(own.id), { blocked: ['acme/one'] });
  expect(await modelsFor(ownOrganisation, own.id)).toEqual(['openai/gpt', 'openai/mini']);
  await owner.post(path(own.id), { allowed: ['openai/gpt'], allowed_only: true });
  expect(await modelsFor(ownOrganisation, own.id)).toEqual(['openai/gpt']);
  expect(await modelsFor(ownOrganisation)).toEqual(allModels);
  expect(await owner.get(path(foreign.id))).toMatchObject({ status: 404 });
  expect(await owner.post(path(foreign.id), { blocked: ['acme/one'] })).toMatchObject({ status: 404 });
  expect(await owner.post(path(own.id), { blocked: ['nothing'] })).toMatchObject({ status: 404 });
});
