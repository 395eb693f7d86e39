import { House, type Person } from './house';

/** Credit that nobody backs is unpaid use: what administrators of an organisation give is bounded by the platform. */
let house: House;
let platform: Person;
let admin: Person;
let [ann, ben]: Person[] = [];

beforeAll(async () => {
  house = await House.open();
  [platform, admin, ann, ben] = await Promise.all([
    house.person('platform_admin'),
    house.person('org_admin'),
    house.person('user'),
    house.person('user'),
  ]);
});
afterAll(() => house.close());

const give = (who: Person, whom: Person | undefined, credit_limit: string) =>
  house.post(who, `/dashboard/admin/users/${whom?.id}/credit-limit`, { credit_limit });
const bound = (who: Person, credit_ceiling: string) =>
  house.post(who, `/dashboard/admin/organisations/${house.ours}`, { credit_ceiling });

test('nothing can be given until the platform says how much, and the refusal names it', async () => {
  const refused = await give(admin, ann, '100000');
  expect([refused.status, refused.body]).toEqual([
    403,
    expect.objectContaining({ code: 'permission_denied', message: expect.stringContaining('$0') as string }),
  ]);
  expect((await bound(admin, '100000')).status).toBe(403);
  expect((await bound(platform, '30')).status).toBe(200);
  const { changes } = await house.row<{ changes: object }>(
    "SELECT changes FROM activity WHERE action = 'organisation.changed' ORDER BY id DESC LIMIT 1",
  );
  expect(JSON.stringify(changes)).toContain('credit_ceiling');
  expect((await house.get(platform, `/dashboard/admin/organisations/${house.ours}`)).text).toContain(
    'name="credit_ceiling"',
  );
});

test('the sum is what counts, also of two at once, and lowering always works', async () => {
  expect((await give(admin, ann, '20')).status).toBe(200);
  expect((await give(admin, ben, '10.01')).status).toBe(403);
  const both = await Promise.all([give(admin, ben, '10'), give(admin, ann, '30')]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 403]);
  expect((await bound(platform, '1')).status).toBe(200);
  expect((await give(admin, ann, '31')).status).toBe(403);
  expect((await give(admin, ann, '5')).status).toBe(200);
  expect((await give(admin, ann, '6')).status).toBe(403);
  expect((await give(platform, ann, '50')).status).toBe(200);
});
