import { RepeatingJobs } from '#product/platform';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { queryRows } from '../../support/postgres';
import { createChatRecord, storeRecords } from '../../support/records';
import { PortalFixture, type Person } from '../admin/portal-fixture';

/** The large example extension as its users, its accounting and other organisations see it. */
const homePath = '/x/cost-centres';
const assignmentsPath = `${homePath}/assignments`;
let fixture: PortalFixture;
let example: ExtensionFolder;
let admin: Person;
let otherAdmin: Person;
const department = 12;

beforeAll(async () => {
  example = buildExtension('examples/extensions/cost-centres');
  fixture = await PortalFixture.open({ environment: { EXTENSIONS: example.path } });
  admin = await fixture.person('org_admin');
  otherAdmin = await fixture.person('org_admin', { organisationId: fixture.otherOrganisation });
});
afterAll(async () => {
  await fixture.close();
  example.remove();
});

/** Reads a table of the extension, which the service login cannot read. */
async function ownRow<Row extends object>(sql: string): Promise<Row> {
  const [row] = await queryRows<Row>(fixture.app.environment['MIGRATION_DATABASE_URL'] ?? '', sql);
  if (row === undefined) throw new Error(`no row: ${sql}`);
  return row;
}

const assign = (person: Person, fields: object) =>
  fixture.post(person, assignmentsPath, {
    kind: 'department',
    number: department,
    cost_centre: 'CC-100',
    ...fields,
  });

const recordCost = (month: Date, organisationId: number): Promise<Set<number>> =>
  storeRecords(fixture.app, [
    createChatRecord(null, 1, {
      createdAt: month,
      organisationId,
      departmentId: department,
      costNano: 2_500_000_000n,
    }),
  ]);

const lastMonthDate = (): Date => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15));
};

test('an assigned department is listed with its costs, exported as CSV and logged', async () => {
  expect((await fixture.get(admin, homePath)).text).toContain('Nothing is assigned yet');
  expect((await assign(admin, {})).status).toBe(200);
  await recordCost(new Date(), fixture.ownOrganisation);
  await recordCost(new Date(), fixture.otherOrganisation);
  const { text } = await fixture.get(admin, homePath);
  expect(text).toContain(`Department ${department}`);
  expect(text).toMatch(/CC-100[\s\S]*\$2\.50/);
  expect((await fixture.get(admin, `${homePath}/export`)).text).toMatch(
    new RegExp(`\r\n20\\d\\d-\\d\\d-01,CC-100,department,${department},1,2\\.500000000\r\n$`),
  );
  expect((await assign(admin, { cost_centre: 'CC-200' })).status).toBe(200);
  expect(await fixture.row(`SELECT action, changes FROM activity ORDER BY id DESC LIMIT 1`)).toEqual({
    action: 'ext.cost-centres.assigned',
    changes: { cost_centre: ['CC-100', 'CC-200'] },
  });
  expect((await fixture.get(admin, '/dashboard/admin/audit')).text).toContain('Cost centre assigned');
});

test('an invalid form is returned with each invalid field marked', async () => {
  const germanAdmin = await fixture.person('org_admin', { preferredLanguage: 'de' });
  const invalidForm = await fixture.submit(germanAdmin, homePath, assignmentsPath, {
    kind: 'project',
    number: '0',
    cost_centre: '',
  });
  expect(invalidForm.status).toBe(422);
  for (const field of ['number', 'cost_centre'])
    expect(invalidForm.text).toMatch(new RegExp(`<input id="${field}"[^>]*aria-invalid="true"`));
});

test('another organisation cannot see or remove an assignment', async () => {
  const { id } = await ownRow<{ id: number }>('SELECT id FROM ext_cost_centres.assignment');
  expect((await fixture.get(otherAdmin, homePath)).text).not.toContain('CC-200');
  expect((await fixture.get(otherAdmin, `${homePath}/export`)).text).not.toContain('CC-200');
  expect((await fixture.post(otherAdmin, `${assignmentsPath}/${id}/remove`)).status).toBe(404);
  expect((await fixture.post(await fixture.person('user'), `${assignmentsPath}/${id}/remove`)).status).toBe(
    403,
  );
  expect((await fixture.get(await fixture.person('department_admin'), homePath)).status).toBe(403);
  expect((await fixture.get(admin, homePath)).text).toContain('CC-200');
});

test('an operator must choose an organisation first', async () => {
  const operator = await fixture.person('platform_admin');
  expect((await fixture.get(operator, homePath)).text).toContain('No organisation chosen');
  expect((await assign(operator, {})).status).toBe(409);
});

test.each(['en', 'de', 'fr', 'it', 'es'])('the page is translated into %s', async (language) => {
  const reader = await fixture.person('org_admin', { preferredLanguage: language });
  const { status, text } = await fixture.get(reader, homePath);
  expect([status, text]).toEqual([200, expect.stringContaining(`<html lang="${language}"`)]);
  expect(text).not.toMatch(/ext\.cost-centres|>(?:heading|what|assign|remove)</);
});

test('the job reports the previous month once', async () => {
  await recordCost(lastMonthDate(), fixture.ownOrganisation);
  const runReport = () => fixture.app.application.get(RepeatingJobs).run('cost-centres/report');
  await runReport();
  await recordCost(lastMonthDate(), fixture.ownOrganisation);
  await runReport();
  expect(await ownRow('SELECT cost_centre, requests::text, cost_usd FROM ext_cost_centres.report')).toEqual({
    cost_centre: 'CC-200',
    requests: '1',
    cost_usd: '2.500000000',
  });
});

test('a removed assignment keeps its reports', async () => {
  const { id } = await ownRow<{ id: number }>('SELECT id FROM ext_cost_centres.assignment');
  expect((await fixture.post(admin, `${assignmentsPath}/${id}/remove`)).status).toBe(200);
  expect((await fixture.get(admin, homePath)).text).toContain('Nothing is assigned yet');
  expect(await ownRow('SELECT count(*)::integer FROM ext_cost_centres.report')).toEqual({ count: 1 });
});
