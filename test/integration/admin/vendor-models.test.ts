import { startSimulator, type Simulator } from '../../support/simulator';
import { AdminHouse } from './admin-house';

/** The page on which a provider's own list of models stands beside the catalogue. */
let house: AdminHouse;
let vendor: Simulator;
let path: string;

beforeAll(async () => {
  house = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  vendor = await startSimulator();
  const made = await house.admin.post('/dashboard/admin/providers', {
    ...{ name: 'claude', style: 'messages-style', base_url: vendor.url, secret: 'sim-1234567890' },
  });
  path = `/dashboard/admin/providers/${String(made.json['id'])}/vendor-models`;
  for (const [model, upstream, facts] of [
    ['narrow', 'claude-opus-5', { window: 400_000 }],
    ['wide', 'claude-opus-4-8', { window: 2_000_000 }],
    ['ended', 'claude-2', {}],
    ['same', 'claude-opus-5-5', {}],
  ] as const) {
    const { status } = await house.admin.post('/dashboard/admin/models/create', {
      ...{ model, kind: 'chat', owned_by: 'tests', facts },
      lanes: [{ provider: 'claude', upstream_model: upstream, region: 'eu' }],
      ...{ input_price: '1', output_price: '1' },
    });
    expect(status).toBe(200);
  }
});
afterAll(async () => {
  await house.close();
  await vendor.stop();
});

const facts = async (model: string): Promise<unknown> =>
  (await house.app.database.query<{ facts: object }>('SELECT facts FROM model WHERE name = $1', [model]))[0]
    ?.facts;
/** The hidden fields of the forms on a page, one by one. */
const formsOf = (body: string): Record<string, string>[] =>
  [...body.matchAll(/<form method="post" action="[^"]+\/take">(.*?)<\/form>/gs)].map(([, inner = '']) =>
    Object.fromEntries(
      [...inner.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  );

test('shows what differs, and takes it over as it was shown', async () => {
  const edit = await house.admin.page(path.replace('/vendor-models', '').replace(/(\d+)$/, 'edit?id=$1'));
  expect(edit.body).toContain(`action="${path}"`);
  const { status, body } = await house.admin.form(path, { back: '/dashboard/admin/models' });
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
  const stale = await house.admin.post(`${path}/take`, { ...narrow, version: 'another' });
  expect(stale).toMatchObject({ status: 409 });
  expect((await house.admin.form(`${path}/take`, narrow)).status).toBe(303);
  expect(await facts('narrow')).toEqual({ window: 1_000_000 });
  const unasked = await house.admin.post(`${path}/take`, { ...wide, lower: false });
  expect([unasked.status, await facts('wide')]).toEqual([200, { window: 2_000_000 }]);
  expect((await house.admin.form(`${path}/take`, wide)).status).toBe(303);
  expect(await facts('wide')).toEqual({ window: 1_000_000 });
  const entries = await house.app.database.query(
    `SELECT object_label, actor_user_id, reason FROM activity WHERE action = 'model.changed' ORDER BY id`,
  );
  const reason = 'as the list of models of claude says';
  expect(entries).toEqual(
    ['narrow', 'wide'].map((model) => ({
      object_label: model,
      actor_user_id: house.admin.userId,
      reason,
    })),
  );
});

test('a program gets the same; a model of a file is left alone; others may not ask', async () => {
  await house.app.database.query(
    `UPDATE model SET facts = '{"window": 300000}', managed = true WHERE name = 'same'`,
  );
  const { json } = await house.admin.post(path, {});
  expect(json).toMatchObject({ provider: 'claude', problem: null });
  const same = (json['models'] as Record<string, unknown>[]).find(({ model }) => model === 'same');
  expect(same).toMatchObject({
    listed: true,
    managed: true,
    differences: [
      { fact: 'window', known: '300000', told: '1000000', change: { window: 1_000_000 }, lowers: false },
    ],
  });
  const fields = { model: 'same', upstream_model: 'claude-opus-5-5' };
  expect(await house.admin.post(`${path}/take`, fields)).toMatchObject({ status: 409 });
  expect((await house.admin.form(path, {})).body).toContain(
    '<code>facts: {&quot;window&quot;:1000000}</code>',
  );
  const absent = { model: 'absent', upstream_model: 'x' };
  expect((await house.admin.post(`${path}/take`, absent)).status).toBe(404);
  expect((await house.admin.post('/dashboard/admin/providers/999999/vendor-models', {})).status).toBe(404);
  const owner = await house.visitor('org_owner', await house.organisation('ours'));
  for (const one of [path, `${path}/take`]) expect((await owner.post(one, fields)).status).toBe(403);
});

test('a vendor that refuses is told of, and nothing is taken over', async () => {
  await vendor.addFault({ fault: { kind: 'status', status: 500 } });
  const { status, body } = await house.admin.form(path, {});
  expect([status, body.includes('The vendor could not be asked.')]).toEqual([200, true]);
  const before = await facts('narrow');
  const fields = { model: 'narrow', upstream_model: 'claude-opus-5' };
  expect(await house.admin.post(`${path}/take`, fields)).toMatchObject({
    status: 502,
    json: { code: 'upstream_error' },
  });
  expect(await facts('narrow')).toEqual(before);
});
