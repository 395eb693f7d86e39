import { AdminHouse, type Json } from './admin-fixture';

/** "lists of people, projects, organisations have no JSON form (`Accept: application/json`)". */

let fixture: AdminHouse;
beforeAll(async () => (fixture = await AdminHouse.open()));
afterAll(() => fixture.close());

test.each([
  ['/dashboard/admin/users', ['user_id', 'email', 'role']],
  ['/dashboard/admin/projects', ['name', 'organisation']],
  ['/dashboard/admin/organisations', ['name', 'slug']],
])('%s returns its rows as JSON for Accept: application/json', async (path, fields) => {
  const { admin, app } = fixture;
  await app.database.query(
    `WITH made AS (INSERT INTO organisation (name, slug) VALUES ('Listed', 'listed') ON CONFLICT DO NOTHING RETURNING id)
     INSERT INTO project (organisation_id, name, created_by) SELECT id, 'Listed project', $1 FROM made`,
    [admin.userId],
  );
  const headers = { ...admin.headers, accept: 'application/json' };
  const answer = await fetch(admin.url + path, { headers });
  const [status, json] = [answer.status, (await answer.json()) as Json];
  expect({ status, json }).toMatchObject({
    status: 200,
    json: { object: 'list', next_cursor: null, previous_cursor: null },
  });
  const [row] = json['data'] as object[];
  expect(Object.keys(row ?? {})).toEqual(expect.arrayContaining(fields));
  expect((await admin.page(path)).headers['content-type']).toContain('text/html');
});
