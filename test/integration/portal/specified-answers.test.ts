import { chatRecord, putRecords } from '../../support/records';
import { addKey } from '../../support/people';
import { House, type Person } from '../admin/house';

let house: House;

beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

test('a display name takes further properties, and means only its own', async () => {
  const person = await house.person('user');
  const path = '/dashboard/settings/display-name';
  const answer = await house.post(person, path, { display_name: 'Ada', role: 'platform_owner', more: [1] });
  expect([answer.status, answer.body]).toEqual([200, { ok: true, display_name: 'Ada' }]);
  expect(await house.row('SELECT display_name, role FROM user_account WHERE id = $1', [person.id])).toEqual({
    display_name: 'Ada',
    role: 'user',
  });
  expect((await house.post(person, path, { more: 1 })).status).toBe(422);
});

test('notices of resting accounts tell an active person that the account works', async () => {
  const person = await house.person('user');
  for (const status of ['archived', 'suspended']) {
    const { status: code, text } = await house.get(person, `/account/${status}`);
    expect([code, text.includes('Your account is active')]).toEqual([200, true]);
  }
  await house.app.database.query("UPDATE user_account SET status = 'archived' WHERE id = $1", [person.id]);
  expect((await house.get(person, '/account/archived')).text).toContain('This account is archived');
  expect((await house.get(person, '/account/suspended')).status).toBe(303);
});

test('usage for programs is one’s own in the admin view too, and every grouping adds up to it', async () => {
  const admin = await house.person('platform_admin');
  const member = await house.person('user');
  const records = async ({ id }: Person, count: number): Promise<void> => {
    const key = await addKey(house.app, id);
    const answered = Array.from({ length: count }, () => chatRecord(id, key.id));
    // A refusal has no lane, so neither a model that served it nor a supplier.
    const nothing = { servedModel: null, supplier: null, region: null, costNano: 0n };
    const refused = chatRecord(id, key.id, { ...nothing, status: 402, code: 'budget_exceeded' });
    await putRecords(house.app, [...answered, refused]);
  };
  await records(admin, 2);
  await records(member, 5);
  const asked = async (path: string) => {
    const { body } = await house.get(admin, path);
    const { total, groups } = body as Record<'total' | 'groups', { requests: number; group_kind: string }>;
    const list = groups as unknown as { requests: number; group_kind: string }[];
    return { total: total.requests, sum: list.reduce((sum, { requests }) => sum + requests, 0), list };
  };
  const own = '/dashboard/api/usage?bucket=day&group_by=';
  expect((await house.post(admin, '/dashboard/toggle-admin-mode', { admin_mode: 'on' })).status).toBe(200);
  for (const grouping of ['model', 'supplier', 'region', 'key', 'project', 'user', 'end_user'])
    expect([grouping, await asked(own + grouping)]).toMatchObject([grouping, { total: 3, sum: 3 }]);
  const { list } = await asked(`${own}model`);
  expect(list.map(({ group_kind, requests }) => [group_kind, requests])).toEqual([
    ['named', 2],
    ['none', 1],
  ]);
  const ofMember = `/dashboard/admin/api/usage?user_id=${member.id}&bucket=day&group_by=model`;
  expect(await asked(ofMember)).toMatchObject({ total: 6, sum: 6 });
});

describe('the settings of quality take the policy of automatic routing', () => {
  const path = '/dashboard/qualitative/settings';
  const actions = (organisationId: number) =>
    house.app.database.query<{ action: string; changes: object }>(
      'SELECT action, changes FROM activity WHERE organisation_id = $1 ORDER BY id',
      [organisationId],
    );

  test('alone and beside their own fields', async () => {
    const organisationId = await house.organisation();
    const admin = await house.person('org_admin', { organisationId });
    const alone = await house.post(admin, path, { mode: 'shadow', dial: 7 });
    expect([alone.status, alone.body['autorouter']]).toEqual([
      200,
      expect.objectContaining({ settings: expect.objectContaining({ mode: 'shadow', dial: 7 }) }),
    ]);
    const both = await house.post(admin, path, { availability: 'admins', dial: 3 });
    expect(both.body).toMatchObject({
      settings: { availability: 'admins' },
      autorouter: { settings: { mode: 'shadow', dial: 3 } },
    });
    expect(await actions(organisationId)).toEqual([
      { action: 'autorouter.changed', changes: { mode: [null, 'shadow'], dial: [null, 7] } },
      { action: 'qualitative.settings-changed', changes: { availability: ['off', 'admins'] } },
      { action: 'autorouter.changed', changes: { dial: [7, 3] } },
    ]);
  });

  test('and store nothing where either part is at fault', async () => {
    const organisationId = await house.organisation();
    const admin = await house.person('org_admin', { organisationId });
    for (const wrong of [{ dial: 11 }, { mode: 'sometimes' }, { reference_model: 'absent' }]) {
      const answer = await house.post(admin, path, { availability: 'admins', ...wrong });
      expect([wrong, answer.status]).toEqual([wrong, 422]);
    }
    const { id } = await addKey(house.app, admin.id);
    expect((await house.post(admin, path, { key_id: id, excluded: true, dial: 3 })).status).toBe(422);
    expect(await actions(organisationId)).toEqual([]);
  });
});
