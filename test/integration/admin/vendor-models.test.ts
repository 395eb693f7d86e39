import { startSimulator, type Simulator } from '../../support/simulator';
import { AdminHouse } from './admin-fixture';

/** The page that compares the provider's own model list with the catalogue. */
let fixture: AdminHouse;
let vendor: Simulator;
let path: string;

beforeAll(async () => {
  fixture = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  vendor = await startSimulator();
  const createResponse = await fixture.admin.post('/dashboard/admin/providers', {
    ...{ name: 'claude', style: 'messages-style', base_url: vendor.url, secret: 'sim-1234567890' },
  });
  path = `/dashboard/admin/providers/${String(createResponse.json['id'])}/vendor-models`;
  for (const [model, upstream, facts] of [
    ['narrow', 'claude-opus-5', { window: 400_000 }],
    ['wide', 'claude-opus-4-8', { window: 2_000_000 }],
    ['ended', 'claude-2', {}],
    ['same', 'claude-opus-5-5', {}],
  ] as const) {
    const { status } = await fixture.admin.post('/dashboard/admin/models/create', {
      ...{ model, kind: 'chat', owned_by: 'tests', facts },
      lanes: [{ provider: 'claude', upstream_model: upstream, region: 'eu' }],
      ...{ input_price: '1', output_price: '1' },
    });
    expect(status).toBe(200);
  }
});
afterAll(async () => {
  await fixture.close();
  await vendor.stop();
});

const attributesOf = async (model: string): Promise<unknown> =>
  (await fixture.app.database.query<{ facts: object }>('SELECT facts FROM model WHERE name = $1', [model]))[0]
    ?.facts;
/** Returns the hidden fields of each form on a page. */
const formsOf = (body: string): Record<string, string>[] =>
  [...body.matchAll(/<form method="post" action="[^"]+\/take">(.*?)<\/form>/gs)].map(([, inner = '']) =>
    Object.fromEntries(
      [...inner.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  );

test('the page shows differences and applies them as shown', async () => {
  const edit = await fixture.admin.page(path.replace('/vendor-models', '').replace(/(\d+)$/, 'edit?id=$1'));
  expect(edit.body).toContain(`action="${path}"`);
  const { status, body } = await fixture.admin.form(path, { back: '/dashboard/admin/models' });
  expect(status).toBe(200);
  expect(body).toContain('The vendor has no model of this name.');
  expect(body).toContain('<del>400000</del> → <ins>1000000</ins>');
  expect(body).not.toContain('claude-opus-5-5');
  const forms = formsOf(body);
  expect(forms.map(({ model, lower }) => [model, lower])).toEqual([
    ['narrow', undefined],
    ['wide', 'on'],
  ]);
  const [narrow, wide] = forms as [Record<string, string>, Record<string, string>];
  const staleResponse = await fixture.admin.post(`${path}/take`, { ...narrow, version: 'another' });
  expect(staleResponse).toMatchObject({ status: 409 });
  expect((await fixture.admin.form(`${path}/take`, narrow)).status).toBe(303);
  expect(await attributesOf('narrow')).toEqual({ window: 1_000_000 });
  const unconfirmedResponse = await fixture.admin.post(`${path}/take`, { ...wide, lower: false });
  expect([unconfirmedResponse.status, await attributesOf('wide')]).toEqual([200, { window: 2_000_000 }]);
  expect((await fixture.admin.form(`${path}/take`, wide)).status).toBe(303);
  expect(await attributesOf('wide')).toEqual({ window: 1_000_000 });
  const entries = await fixture.app.database.query(
    `SELECT object_label, actor_user_id, reason FROM activity WHERE action = 'model.changed' ORDER BY id`,
  );
  const reason = 'as the list of models of claude says';
  expect(entries).toEqual(
    ['narrow', 'wide'].map((model) => ({
      object_label: model,
      actor_user_id: fixture.admin.userId,
      reason,
    })),
  );
});

test('the JSON response has the same content, models of the gateway file stay unchanged, and other roles are refused', async () => {
  await fixture.app.database.query(
    `UPDATE model SET facts = '{"window": 300000}', managed = true WHERE name = 'same'`,
  );
  const { json } = await fixture.admin.post(path, {});
  expect(json).toMatchObject({ provider: 'claude', problem: null });
  const unchangedModel = (json['models'] as Record<string, unknown>[]).find(({ model }) => model === 'same');
  expect(unchangedModel).toMatchObject({
    listed: true,
    managed: true,
    differences: [
      { fact: 'window', known: '300000', told: '1000000', change: { window: 1_000_000 }, lowers: false },
    ],
  });
  const fields = { model: 'same', upstream_model: 'claude-opus-5-5' };
  expect(await fixture.admin.post(`${path}/take`, fields)).toMatchObject({ status: 409 });
  expect((await fixture.admin.form(path, {})).body).toContain(
    '<code>facts: {&quot;window&quot;:1000000}</code>',
  );
  const absent = { model: 'absent', upstream_model: 'x' };
  expect((await fixture.admin.post(`${path}/take`, absent)).status).toBe(404);
  expect((await fixture.admin.post('/dashboard/admin/providers/999999/vendor-models', {})).status).toBe(404);
  const owner = await fixture.visitor('org_owner', await fixture.organisation('ours'));
  for (const forbiddenPath of [path, `${path}/take`])
    expect((await owner.post(forbiddenPath, fields)).status).toBe(403);
});

test('an error of the provider is reported, and nothing is applied', async () => {
  await vendor.addFault({ fault: { kind: 'status', status: 500 } });
  const { status, body } = await fixture.admin.form(path, {});
  expect([status, body.includes('The vendor could not be asked.')]).toEqual([200, true]);
  const attributesBefore = await attributesOf('narrow');
  const fields = { model: 'narrow', upstream_model: 'claude-opus-5' };
  expect(await fixture.admin.post(`${path}/take`, fields)).toMatchObject({
    status: 502,
    json: { code: 'upstream_error' },
  });
  expect(await attributesOf('narrow')).toEqual(attributesBefore);
});
