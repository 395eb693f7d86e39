import { PortalFixture, type Person } from './portal-fixture';

/** Organisation administrators can grant credit only up to a ceiling that the platform sets. */
let fixture: PortalFixture;
let platformAdmin: Person;
let admin: Person;
let [ann, ben]: Person[] = [];

beforeAll(async () => {
  fixture = await PortalFixture.open();
  [platformAdmin, admin, ann, ben] = await Promise.all([
    fixture.person('platform_admin'),
    fixture.person('org_admin'),
    fixture.person('user'),
    fixture.person('user'),
  ]);
});
afterAll(() => fixture.close());

const setCreditLimit = (actor: Person, target: Person | undefined, credit_limit: string) =>
  fixture.post(actor, `/dashboard/admin/users/${target?.id}/credit-limit`, { credit_limit });
const setCeiling = (actor: Person, credit_ceiling: string) =>
  fixture.post(actor, `/dashboard/admin/organisations/${fixture.ownOrganisation}`, { credit_ceiling });

test('credit cannot be granted until the platform sets a ceiling, and the refusal says so', async () => {
  const refusal = await setCreditLimit(admin, ann, '100000');
  expect([refusal.status, refusal.body]).toEqual([
    403,
    expect.objectContaining({ code: 'permission_denied', message: expect.stringContaining('$0') as string }),
  ]);
  expect((await setCeiling(admin, '100000')).status).toBe(403);
  expect((await setCeiling(platformAdmin, '30')).status).toBe(200);
  const { changes } = await fixture.row<{ changes: object }>(
    "SELECT changes FROM activity WHERE action = 'organisation.changed' ORDER BY id DESC LIMIT 1",
  );
  expect(JSON.stringify(changes)).toContain('credit_ceiling');
  expect(
    (await fixture.get(platformAdmin, `/dashboard/admin/organisations/${fixture.ownOrganisation}`)).text,
  ).toContain('name="credit_ceiling"');
});

test('the ceiling limits the sum of credit, also for concurrent grants, and lowering a limit always works', async () => {
  expect((await setCreditLimit(admin, ann, '20')).status).toBe(200);
  expect((await setCreditLimit(admin, ben, '10.01')).status).toBe(403);
  const concurrentGrants = await Promise.all([
    setCreditLimit(admin, ben, '10'),
    setCreditLimit(admin, ann, '30'),
  ]);
  expect(concurrentGrants.map(({ status }) => status).sort()).toEqual([200, 403]);
  expect((await setCeiling(platformAdmin, '1')).status).toBe(200);
  expect((await setCreditLimit(admin, ann, '31')).status).toBe(403);
  expect((await setCreditLimit(admin, ann, '5')).status).toBe(200);
  expect((await setCreditLimit(admin, ann, '6')).status).toBe(403);
  expect((await setCreditLimit(platformAdmin, ann, '50')).status).toBe(200);
});
