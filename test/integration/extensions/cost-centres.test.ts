import { RepeatingJobs } from '#product/platform';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { rowsOf } from '../../support/postgres';
import { chatRecord, putRecords } from '../../support/records';
import { House, type Person } from '../admin/house';

/** The large example, as its readers, its books and other organisations meet it. */
const home = '/x/cost-centres';
const action = `${home}/assignments`;
let house: House;
let example: ExtensionFolder;
let admin: Person;
let foreigner: Person;
const department = 12;

beforeAll(async () => {
  example = builtExtension('examples/extensions/cost-centres');
  house = await House.open({ environment: { EXTENSIONS: example.path } });
  admin = await house.person('org_admin');
  foreigner = await house.person('org_admin', { organisationId: house.theirs });
});
afterAll(async () => {
  await house.close();
  example.remove();
});

/** The tables of an extension are its own: not even the service reads them. */
async function own<Row extends object>(sql: string): Promise<Row> {
  const [row] = await rowsOf<Row>(house.app.environment['MIGRATION_DATABASE_URL'] ?? '', sql);
  if (row === undefined) throw new Error(`no row: ${sql}`);
  return row;
}

const assign = (person: Person, fields: object) =>
  house.post(person, action, { kind: 'department', number: department, cost_centre: 'CC-100', ...fields });

const costOf = (month: Date, organisationId: number): Promise<Set<number>> =>
  putRecords(house.app, [
    chatRecord(null, 1, {
      createdAt: month,
      organisationId,
      departmentId: department,
      costNano: 2_500_000_000n,
    }),
  ]);

const lastMonth = (): Date => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15));
};

test('a department is assigned, costs are listed and taken away as a file, and the change is on record', async () => {
  expect((await house.get(admin, home)).text).toContain('Nothing is assigned yet');
  expect((await assign(admin, {})).status).toBe(200);
  await costOf(new Date(), house.ours);
  await costOf(new Date(), house.theirs);
  const { text } = await house.get(admin, home);
  expect(text).toContain(`Department ${department}`);
  expect(text).toMatch(/CC-100[\s\S]*\$2\.50/);
  expect((await house.get(admin, `${home}/export`)).text).toMatch(
    new RegExp(`\r\n20\\d\\d-\\d\\d-01,CC-100,department,${department},1,2\\.500000000\r\n$`),
  );
  expect((await assign(admin, { cost_centre: 'CC-200' })).status).toBe(200);
  expect(await house.row(`SELECT action, changes FROM activity ORDER BY id DESC LIMIT 1`)).toEqual({
    action: 'ext.cost-centres.assigned',
    changes: { cost_centre: ['CC-100', 'CC-200'] },
  });
  expect((await house.get(admin, '/dashboard/admin/audit')).text).toContain('Cost centre assigned');
});

test('what does not fit is refused on its page, by field', async () => {
  const german = await house.person('org_admin', { preferredLanguage: 'de' });
  const empty = await house.submit(german, home, action, { kind: 'project', number: '0', cost_centre: '' });
  expect(empty.status).toBe(422);
  for (const field of ['number', 'cost_centre'])
    expect(empty.text).toMatch(new RegExp(`<input id="${field}"[^>]*aria-invalid="true"`));
});

test('another organisation sees nothing of it, and removes nothing', async () => {
  const { id } = await own<{ id: number }>('SELECT id FROM ext_cost_centres.assignment');
  expect((await house.get(foreigner, home)).text).not.toContain('CC-200');
  expect((await house.get(foreigner, `${home}/export`)).text).not.toContain('CC-200');
  expect((await house.post(foreigner, `${action}/${id}/remove`)).status).toBe(404);
  expect((await house.post(await house.person('user'), `${action}/${id}/remove`)).status).toBe(403);
  expect((await house.get(await house.person('department_admin'), home)).status).toBe(403);
  expect((await house.get(admin, home)).text).toContain('CC-200');
});

test('an operator chooses an organisation first', async () => {
  const operator = await house.person('platform_admin');
  expect((await house.get(operator, home)).text).toContain('No organisation chosen');
  expect((await assign(operator, {})).status).toBe(409);
});

test.each(['en', 'de', 'fr', 'it', 'es'])('its page speaks %s', async (language) => {
  const reader = await house.person('org_admin', { preferredLanguage: language });
  const { status, text } = await house.get(reader, home);
  expect([status, text]).toEqual([200, expect.stringContaining(`<html lang="${language}"`)]);
  expect(text).not.toMatch(/ext\.cost-centres|>(?:heading|what|assign|remove)</);
});

test('the job sums up the month that is over, once', async () => {
  await costOf(lastMonth(), house.ours);
  const run = () => house.app.application.get(RepeatingJobs).run('cost-centres/report');
  await run();
  await costOf(lastMonth(), house.ours);
  await run();
  expect(await own('SELECT cost_centre, requests::text, cost_usd FROM ext_cost_centres.report')).toEqual({
    cost_centre: 'CC-200',
    requests: '1',
    cost_usd: '2.500000000',
  });
});

test('an assignment is removed, and reports stay', async () => {
  const { id } = await own<{ id: number }>('SELECT id FROM ext_cost_centres.assignment');
  expect((await house.post(admin, `${action}/${id}/remove`)).status).toBe(200);
  expect((await house.get(admin, home)).text).toContain('Nothing is assigned yet');
  expect(await own('SELECT count(*)::integer FROM ext_cost_centres.report')).toEqual({ count: 1 });
});
