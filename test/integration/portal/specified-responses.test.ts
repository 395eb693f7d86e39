import { createChatRecord, storeRecords } from '../../support/records';
import { addKey } from '../../support/users';
import { PortalFixture, type Person } from '../admin/portal-fixture';

let fixture: PortalFixture;

beforeAll(async () => {
  fixture = await PortalFixture.open();
});
afterAll(() => fixture.close());

test('the display name endpoint ignores other properties', async () => {
  const person = await fixture.person('user');
  const path = '/dashboard/settings/display-name';
  const answer = await fixture.post(person, path, { display_name: 'Ada', role: 'platform_owner', more: [1] });
  expect([answer.status, answer.body]).toEqual([200, { ok: true, display_name: 'Ada' }]);
  expect(await fixture.row('SELECT display_name, role FROM user_account WHERE id = $1', [person.id])).toEqual(
    {
      display_name: 'Ada',
      role: 'user',
    },
  );
  expect((await fixture.post(person, path, { more: 1 })).status).toBe(422);
});

test('account notices show an active user that their account works', async () => {
  const person = await fixture.person('user');
  for (const status of ['archived', 'suspended']) {
    const { status: code, text } = await fixture.get(person, `/account/${status}`);
    expect([code, text.includes('Your account is active')]).toEqual([200, true]);
  }
  await fixture.app.database.query("UPDATE user_account SET status = 'archived' WHERE id = $1", [person.id]);
  expect((await fixture.get(person, '/account/archived')).text).toContain('This account is archived');
  expect((await fixture.get(person, '/account/suspended')).status).toBe(303);
});

test("the usage API returns the caller's own usage in the admin view too, and every grouping adds up to it", async () => {
  const admin = await fixture.person('platform_admin');
  const member = await fixture.person('user');
  const addRecords = async ({ id }: Person, count: number): Promise<void> => {
    const key = await addKey(fixture.app, id);
    const successfulRequests = Array.from({ length: count }, () => createChatRecord(id, key.id));
    // A refused request has no lane, so no serving model and no supplier.
    const noLane = { servedModel: null, supplier: null, region: null, costNano: 0n };
    const refusedRequest = createChatRecord(id, key.id, { ...noLane, status: 402, code: 'budget_exceeded' });
    await storeRecords(fixture.app, [...successfulRequests, refusedRequest]);
  };
  await addRecords(admin, 2);
  await addRecords(member, 5);
  const getUsage = async (path: string) => {
    const { body } = await fixture.get(admin, path);
    const { total, groups } = body as Record<'total' | 'groups', { requests: number; group_kind: string }>;
    const list = groups as unknown as { requests: number; group_kind: string }[];
    return { total: total.requests, sum: list.reduce((sum, { requests }) => sum + requests, 0), list };
  };
  const ownPath = '/dashboard/api/usage?bucket=day&group_by=';
  expect((await fixture.post(admin, '/dashboard/toggle-admin-mode', { admin_mode: 'on' })).status).toBe(200);
  for (const grouping of ['model', 'supplier', 'region', 'key', 'project', 'user', 'end_user'])
    expect([grouping, await getUsage(ownPath + grouping)]).toMatchObject([grouping, { total: 3, sum: 3 }]);
  const { list } = await getUsage(`${ownPath}model`);
  expect(list.map(({ group_kind, requests }) => [group_kind, requests])).toEqual([
    ['named', 2],
    ['none', 1],
  ]);
  const memberUsage = `/dashboard/admin/api/usage?user_id=${member.id}&bucket=day&group_by=model`;
  expect(await getUsage(memberUsage)).toMatchObject({ total: 6, sum: 6 });
});

describe('Quality settings with an automatic routing policy', () => {
  const path = '/dashboard/qualitative/settings';
  const actions = (organisationId: number) =>
    fixture.app.database.query<{ action: string; changes: object }>(
      'SELECT action, changes FROM activity WHERE organisation_id = $1 ORDER BY id',
      [organisationId],
    );

  test('accept the policy alone and together with their own fields', async () => {
    const organisationId = await fixture.organisation();
    const admin = await fixture.person('org_admin', { organisationId });
    const policyOnlyResponse = await fixture.post(admin, path, { mode: 'shadow', dial: 7 });
    expect([policyOnlyResponse.status, policyOnlyResponse.body['autorouter']]).toEqual([
      200,
      expect.objectContaining({ settings: expect.objectContaining({ mode: 'shadow', dial: 7 }) }),
    ]);
    const combinedResponse = await fixture.post(admin, path, { availability: 'admins', dial: 3 });
    expect(combinedResponse.body).toMatchObject({
      settings: { availability: 'admins' },
      autorouter: { settings: { mode: 'shadow', dial: 3 } },
    });
    expect(await actions(organisationId)).toEqual([
      { action: 'autorouter.changed', changes: { mode: [null, 'shadow'], dial: [null, 7] } },
      { action: 'qualitative.settings-changed', changes: { availability: ['off', 'admins'] } },
      { action: 'autorouter.changed', changes: { dial: [7, 3] } },
    ]);
  });

  test('store nothing if either part is invalid', async () => {
    const organisationId = await fixture.organisation();
    const admin = await fixture.person('org_admin', { organisationId });
    for (const invalidFields of [{ dial: 11 }, { mode: 'sometimes' }, { reference_model: 'absent' }]) {
      const answer = await fixture.post(admin, path, { availability: 'admins', ...invalidFields });
      expect([invalidFields, answer.status]).toEqual([invalidFields, 422]);
    }
    const { id } = await addKey(fixture.app, admin.id);
    expect((await fixture.post(admin, path, { key_id: id, excluded: true, dial: 3 })).status).toBe(422);
    expect(await actions(organisationId)).toEqual([]);
  });
});
