import { PortalFixture } from './portal-fixture';

const page = '/dashboard/admin/organisations';

let fixture: PortalFixture;

beforeAll(async () => {
  fixture = await PortalFixture.open();
});
afterAll(() => fixture.close());

test('a picker keeps the selected organisation when there are more than it lists', async () => {
  await fixture.app.database.query(
    `INSERT INTO organisation (name, slug) SELECT '!' || n, 'filler-' || n FROM generate_series(1, 5001) n`,
  );
  const admin = await fixture.person('platform_admin');
  await fixture.post(admin, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  const { id: last } = await fixture.row<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('zz last', 'zz-last') RETURNING id",
  );
  const member = await fixture.person('user');
  await fixture.app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    member.id,
    last,
  ]);
  const selectedOption = `<option value="${last}" selected>zz last</option>`;
  const pageText = async (path: string) => (await fixture.get(admin, path)).text;
  for (const path of [
    `/dashboard/admin/users/${member.id}`,
    `/dashboard/admin/users?org_id=${last}`,
    `/dashboard/admin/projects?org_id=${last}`,
    `${page}/merge?target_org_id=${last}`,
    `/dashboard/usage?organisation=${last}`,
  ]) {
    const text = await pageText(path);
    expect([path, text.includes(selectedOption)]).toEqual([path, true]);
  }
  // The organisation's page sets the administration scope, which the header then shows.
  expect(await pageText(`${page}/${last}`)).toMatch(
    new RegExp(`action="/dashboard/set-admin-org" class="form">[^]{0,200}name="org_id" value="${last}"`),
  );
  const scopeResponse = await fixture.post(admin, '/dashboard/set-admin-org', { org_id: String(last) });
  expect(scopeResponse.body).toMatchObject({ org_id: last });
  expect((await pageText('/dashboard/activity')).split(selectedOption)).not.toHaveLength(1);
});
