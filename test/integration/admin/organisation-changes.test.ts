import { PortalFixture, type Person } from './portal-fixture';

const page = '/dashboard/admin/organisations';
let fixture: PortalFixture;
let platformAdmin: Person;

beforeAll(async () => {
  fixture = await PortalFixture.open();
  platformAdmin = await fixture.person('platform_admin');
});
afterAll(() => fixture.close());

test('a merge logs each new role, ends the sessions of moved users and disables no model', async () => {
  const [target, source] = [await fixture.organisation(), await fixture.organisation()];
  const leader = await fixture.person('org_owner', { organisationId: source });
  const member = await fixture.person('user', { organisationId: source });
  for (const model of ['switched-off', 'granted'])
    await fixture.post(platformAdmin, '/dashboard/admin/models/create', {
      model,
      kind: 'chat',
      owned_by: 'tests',
    });
  const idOf = async (name: string) =>
    (await fixture.row<{ id: number }>('SELECT id FROM model WHERE name = $1', [name])).id;
  const [off, granted] = [await idOf('switched-off'), await idOf('granted')];
  await fixture.app.database.query(
    `INSERT INTO model_organisation_access (model_id, organisation_id, granted, enabled)
     VALUES ($1, $3, false, false), ($2, $3, true, true)`,
    [off, granted, source],
  );
  const data = await fixture.get(platformAdmin, `${page}/${source}/merge-data`);
  expect(JSON.parse(data.text)).toMatchObject({ counts: { members: 2 } });

  const form = { target_org_id: target, source_org_ids: String(source) };
  const upgradeResponse = await fixture.post(platformAdmin, `${page}/merge`, {
    ...form,
    [`role_${member.id}`]: 'org_owner',
  });
  expect([upgradeResponse.status, upgradeResponse.text]).toEqual([
    404,
    expect.stringContaining(`role_${member.id}`),
  ]);
  const mergeResponse = await fixture.post(platformAdmin, `${page}/merge`, {
    ...form,
    [`role_${leader.id}`]: 'org_admin',
    reason: 'One firm now',
  });
  expect(mergeResponse.status).toBe(200);
  expect(
    await fixture.app.database.query(
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
  for (const movedUser of [leader, member])
    expect((await fixture.get(movedUser, '/dashboard/activity')).status).toBe(303);
  expect(
    await fixture.app.database.query(
      'SELECT model_id, granted, enabled FROM model_organisation_access WHERE organisation_id = $1',
      [target],
    ),
  ).toEqual([{ model_id: granted, granted: true, enabled: true }]);
});

test('a required field refuses null, and a null reason counts as no reason', async () => {
  const id = await fixture.organisation();
  for (const field of ['name', 'slug', 'billing_exempt', 'sso_only']) {
    const answer = await fixture.post(platformAdmin, `${page}/${id}`, { [field]: null });
    expect([field, answer.status]).toEqual([field, 422]);
    expect(answer.text).toContain(field);
  }
  const renameResponse = await fixture.post(platformAdmin, `${page}/${id}`, { name: 'Pier', reason: null });
  expect(renameResponse.status).toBe(200);
});

test('a merge refuses a reason that is too long or not text instead of truncating it', async () => {
  const [target, source] = [await fixture.organisation(), await fixture.organisation()];
  const form = { target_org_id: target, source_org_ids: String(source) };
  for (const invalidFields of [{ reason: 'x'.repeat(501) }, { reason: 5 }, { confirmation: {} }]) {
    const { status, text } = await fixture.post(platformAdmin, `${page}/merge`, {
      ...form,
      ...invalidFields,
    });
    expect([status, (JSON.parse(text) as { detail: { loc: string[] }[] }).detail[0]?.loc]).toEqual([
      422,
      ['body', Object.keys(invalidFields)[0]],
    ]);
  }
});
