import { type BudgetScope, Limits } from '#product/billing';
import { parseUsd } from '#product/kernel';
import { parseForms } from '../../support/page-forms';
import { PortalFixture, type Person } from './portal-fixture';

/** Temporary budget raises of organisations, departments and projects. */
let fixture: PortalFixture;
let platformAdmin: Person;
let admin: Person;
const adminPath = '/dashboard/admin';

interface RaiseTarget {
  readonly scope: BudgetScope;
  readonly path: string;
  readonly page: string;
  readonly by: Person;
  readonly action: string;
}

let targets: readonly RaiseTarget[];

beforeAll(async () => {
  fixture = await PortalFixture.open();
  [platformAdmin, admin] = [await fixture.person('platform_admin'), await fixture.person('org_admin')];
  const createObject = async (path: string, name: string) =>
    Number((await fixture.post(admin, path, { name, monthly_budget: 5 })).body['id']);
  const department = await createObject(`${adminPath}/departments`, 'Research');
  const project = await createObject(`${adminPath}/projects`, 'Moon');
  await fixture.post(platformAdmin, `${adminPath}/organisations/${fixture.ownOrganisation}`, {
    monthly_budget: 5,
  });
  const targetOf = (
    kind: 'organisation' | 'department' | 'project',
    id: number,
    by: Person,
  ): RaiseTarget => ({
    scope: { kind, id },
    path: `${adminPath}/${kind}s/${id}`,
    page: kind === 'department' ? `${adminPath}/departments` : `${adminPath}/${kind}s/${id}`,
    by,
    action: `${kind}.changed`,
  });
  targets = [
    targetOf('organisation', fixture.ownOrganisation, platformAdmin),
    targetOf('department', department, admin),
    targetOf('project', project, admin),
  ];
});
afterAll(() => fixture.close());

const stateOf = (scope: BudgetScope) => fixture.app.application.get(Limits, { strict: false }).state(scope);
const until = new Date(Date.now() + 86_400_000).toISOString();
const raise = { raise_amount: '2.5', raise_until: until, reason: 'A fair.' };

test('a raise needs a reason and an end, is shown next to the usage, is logged, and can be ended early', async () => {
  for (const { scope, path, page, by, action } of targets) {
    const post = (body: object) => fixture.post(by, `${path}/budget-raise`, body);
    expect([scope.kind, (await post(raise)).status]).toEqual([scope.kind, 200]);
    expect(await stateOf(scope)).toMatchObject({
      limit: parseUsd('5'),
      raised: parseUsd('2.5'),
      remaining: parseUsd('7.5'),
      raisedUntil: new Date(until),
    });
    const { text } = await fixture.get(by, page);
    expect(text).toContain('Raised by $2.50 until');
    expect(parseForms(text).some((form) => form.action === `${path}/budget-raise`)).toBe(true);
    const entry = await fixture.row<object>(
      'SELECT reason, changes FROM activity WHERE action = $1 ORDER BY id DESC LIMIT 1',
      [action],
    );
    expect(entry).toMatchObject({ reason: 'A fair.', changes: { raised_usd: [null, '2.5'] } });
    expect((await post({ raise_amount: null })).status).toBe(200);
    expect(await stateOf(scope)).toMatchObject({ raised: 0n, remaining: parseUsd('5') });
    expect((await fixture.get(by, page)).text).not.toContain('Raised by');
  }
});

test('a raise is refused without reason, amount or budget, with a past end or a stale page, or for lack of rights', async () => {
  const stranger = await fixture.person('org_admin', { organisationId: fixture.otherOrganisation });
  const user = await fixture.person('user');
  for (const { scope, path, by } of targets) {
    const post = async (body: object, person = by) =>
      (await fixture.post(person, `${path}/budget-raise`, body)).status;
    const refusals = [
      await post({ ...raise, reason: '' }),
      await post({ ...raise, raise_amount: '0' }),
      await post({ ...raise, raise_amount: 'much' }),
      await post({ ...raise, raise_until: '2020-01-01' }),
      await post({ ...raise, version: 999 }),
      await post({ reason: 'none' }),
      await post(raise, user),
      await post(raise, stranger),
    ];
    const foreignStatus = scope.kind === 'organisation' ? 403 : 404;
    expect([scope.kind, refusals]).toEqual([scope.kind, [422, 422, 422, 422, 409, 422, 403, foreignStatus]]);
  }
  const departmentWithoutBudget = await fixture.post(admin, `${adminPath}/departments`, { name: 'Bare' });
  const path = `${adminPath}/departments/${String(departmentWithoutBudget.body['id'])}`;
  expect((await fixture.post(admin, `${path}/budget-raise`, raise)).status).toBe(409);
  expect((await fixture.get(admin, `${adminPath}/departments`)).text).toContain(
    'There is no budget that could be raised',
  );
});

test('the form names the missing input and keeps the entered values', async () => {
  const [, department] = targets;
  const path = `${department?.path ?? ''}/budget-raise`;
  const answer = await fetch(fixture.app.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: admin.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams({
      _page: department?.page ?? '',
      raise_amount: '9.75',
      raise_until: '2030-01-01',
    }).toString(),
  });
  const html = await answer.text();
  expect([answer.status, html.includes('Give a reason; it is recorded in the activity log.')]).toEqual([
    422,
    true,
  ]);
  const form = parseForms(html).find(({ action }) => action === path);
  expect(form?.fields.find(({ name }) => name === 'raise_amount')?.value).toBe('9.75');
});

test('a department with a past raise can be deleted', async () => {
  const createResponse = await fixture.post(admin, `${adminPath}/departments`, {
    name: 'Brief',
    monthly_budget: 1,
  });
  const path = `${adminPath}/departments/${String(createResponse.body['id'])}`;
  expect((await fixture.post(admin, `${path}/budget-raise`, raise)).status).toBe(200);
  expect((await fixture.post(admin, `${path}/delete`)).status).toBe(200);
});
