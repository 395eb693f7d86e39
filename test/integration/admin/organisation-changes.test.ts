import { House, type Person } from './house';

const page = '/dashboard/admin/organisations';
let house: House;
let platform: Person;

beforeAll(async () => {
  house = await House.open();
  platform = await house.person('platform_admin');
});
afterAll(() => house.close());

test('a merge has each new role on record, ends the sessions of who moves, and switches no model off', async () => {
  const [target, source] = [await house.organisation(), await house.organisation()];
  const leader = await house.person('org_owner', { organisationId: source });
  const member = await house.person('user', { organisationId: source });
  for (const model of ['switched-off', 'granted'])
    await house.post(platform, '/dashboard/admin/models/create', {
      model,
      kind: 'chat',
      owned_by: 'tests',
    });
  const idOf = async (name: string) =>
    (await house.row<{ id: number }>('SELECT id FROM model WHERE name = $1', [name])).id;
  const [off, granted] = [await idOf('switched-off'), await idOf('granted')];
  await house.app.database.query(
    `INSERT INTO model_organisation_access (model_id, organisation_id, granted, enabled)
     VALUES ($1, $3, false, false), ($2, $3, true, true)`,
    [off, granted, source],
  );
  const data = await house.get(platform, `${page}/${source}/merge-data`);
  expect(JSON.parse(data.text)).toMatchObject({ counts: { members: 2 } });

  const form = { target_org_id: target, source_org_ids: String(source) };
  const upgraded = await house.post(platform, `${page}/merge`, {
    ...form,
    [`role_${member.id}`]: 'org_owner',
  });
  expect([upgraded.status, upgraded.text]).toEqual([404, expect.stringContaining(`role_${member.id}`)]);
  const merged = await house.post(platform, `${page}/merge`, {
    ...form,
    [`role_${leader.id}`]: 'org_admin',
    reason: 'One firm now',
  });
  expect(merged.status).toBe(200);
  expect(
    await house.app.database.query(
      `SELECT user_id, organisation_id, changes, reason FROM activity
        WHERE action = 'user.role-changed' AND object_id = $1`,
      [String(leader.id)],
    ),
  ).toEqual([
    {
      user_id: leader.id,
      organisation_id: target,
      changes: { role: ['org_owner', 'org_admin'] },
      reason: 'One firm now',
    },
  ]);
  for (const moved of [leader, member])
    expect((await house.get(moved, '/dashboard/activity')).status).toBe(303);
  expect(
    await house.app.database.query(
      'SELECT model_id, granted, enabled FROM model_organisation_access WHERE organisation_id = $1',
      [target],
    ),
  ).toEqual([{ model_id: granted, granted: true, enabled: true }]);
});

test('a field that cannot be empty is refused as null, and null is no reason', async () => {
  const id = await house.organisation();
  for (const field of ['name', 'slug', 'billing_exempt', 'sso_only']) {
    const answer = await house.post(platform, `${page}/${id}`, { [field]: null });
    expect([field, answer.status]).toEqual([field, 422]);
    expect(answer.text).toContain(field);
  }
  const named = await house.post(platform, `${page}/${id}`, { name: 'Pier', reason: null });
  expect(named.status).toBe(200);
});

test('a merge refuses a reason that is too long or no text, and cuts none', async () => {
  const [target, source] = [await house.organisation(), await house.organisation()];
  const form = { target_org_id: target, source_org_ids: String(source) };
  for (const wrong of [{ reason: 'x'.repeat(501) }, { reason: 5 }, { confirmation: {} }]) {
    const { status, text } = await house.post(platform, `${page}/merge`, { ...form, ...wrong });
    expect([status, (JSON.parse(text) as { detail: { loc: string[] }[] }).detail[0]?.loc]).toEqual([
      422,
      ['body', Object.keys(wrong)[0]],
    ]);
  }
});
