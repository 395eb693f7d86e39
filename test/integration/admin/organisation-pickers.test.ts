import { House } from './house';

const page = '/dashboard/admin/organisations';

let house: House;

beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

test('among more organisations than a picker lists, the one that is chosen stays chosen', async () => {
  await house.app.database.query(
    `INSERT INTO organisation (name, slug) SELECT '!' || n, 'filler-' || n FROM generate_series(1, 5001) n`,
  );
  const admin = await house.person('platform_admin');
  await house.post(admin, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  const { id: last } = await house.row<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('zz last', 'zz-last') RETURNING id",
  );
  const member = await house.person('user');
  await house.app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    member.id,
    last,
  ]);
  const chosen = `<option value="${last}" selected>zz last</option>`;
  const shows = async (path: string) => (await house.get(admin, path)).text;
  for (const path of [
    `/dashboard/admin/users/${member.id}`,
    `/dashboard/admin/users?org_id=${last}`,
    `/dashboard/admin/projects?org_id=${last}`,
    `${page}/merge?target_org_id=${last}`,
    `/dashboard/usage?organisation=${last}`,
  ]) {
    const text = await shows(path);
    expect([path, text.includes(chosen)]).toEqual([path, true]);
  }
  // Its own page narrows the administration to it, and the strip then says so.
  expect(await shows(`${page}/${last}`)).toMatch(
    new RegExp(`action="/dashboard/set-admin-org" class="form">[^]{0,200}name="org_id" value="${last}"`),
  );
  const narrowed = await house.post(admin, '/dashboard/set-admin-org', { org_id: String(last) });
  expect(narrowed.body).toMatchObject({ org_id: last });
  expect((await shows('/dashboard/activity')).split(chosen)).not.toHaveLength(1);
});
