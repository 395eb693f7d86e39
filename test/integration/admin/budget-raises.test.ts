import { type BudgetScope, Limits } from '#product/billing';
import { parseUsd } from '#product/kernel';
import { formsOf } from '../../support/page-forms';
import { House, type Person } from './house';

/** Budgets of organisations, departments and projects that are raised for a while. */
let house: House;
let platform: Person;
let admin: Person;
const desk = '/dashboard/admin';

interface Place {
  readonly scope: BudgetScope;
  readonly path: string;
  readonly page: string;
  readonly by: Person;
  readonly action: string;
}

let places: readonly Place[];

beforeAll(async () => {
  house = await House.open();
  [platform, admin] = [await house.person('platform_admin'), await house.person('org_admin')];
  const made = async (path: string, name: string) =>
    Number((await house.post(admin, path, { name, monthly_budget: 5 })).body['id']);
  const department = await made(`${desk}/departments`, 'Research');
  const project = await made(`${desk}/projects`, 'Moon');
  await house.post(platform, `${desk}/organisations/${house.ours}`, { monthly_budget: 5 });
  const place = (kind: 'organisation' | 'department' | 'project', id: number, by: Person): Place => ({
    scope: { kind, id },
    path: `${desk}/${kind}s/${id}`,
    page: kind === 'department' ? `${desk}/departments` : `${desk}/${kind}s/${id}`,
    by,
    action: `${kind}.changed`,
  });
  places = [
    place('organisation', house.ours, platform),
    place('department', department, admin),
    place('project', project, admin),
  ];
});
afterAll(() => house.close());

const stateOf = (scope: BudgetScope) => house.app.application.get(Limits, { strict: false }).state(scope);
const until = new Date(Date.now() + 86_400_000).toISOString();
const raise = { raise_amount: '2.5', raise_until: until, reason: 'A fair.' };

test('each is raised with a reason until an instant, shown beside its usage, on record, and ended early', async () => {
  for (const { scope, path, page, by, action } of places) {
    const post = (body: object) => house.post(by, `${path}/budget-raise`, body);
    expect([scope.kind, (await post(raise)).status]).toEqual([scope.kind, 200]);
    expect(await stateOf(scope)).toMatchObject({
      limit: parseUsd('5'),
      raised: parseUsd('2.5'),
      remaining: parseUsd('7.5'),
      raisedUntil: new Date(until),
    });
    const { text } = await house.get(by, page);
    expect(text).toContain('Raised by $2.50 until');
    expect(formsOf(text).some((form) => form.action === `${path}/budget-raise`)).toBe(true);
    const entry = await house.row<object>(
      'SELECT reason, changes FROM activity WHERE action = $1 ORDER BY id DESC LIMIT 1',
      [action],
    );
    expect(entry).toMatchObject({ reason: 'A fair.', changes: { raised_usd: [null, '2.5'] } });
    expect((await post({ raise_amount: null })).status).toBe(200);
    expect(await stateOf(scope)).toMatchObject({ raised: 0n, remaining: parseUsd('5') });
    expect((await house.get(by, page)).text).not.toContain('Raised by');
  }
});

test('a raise is refused: no reason, no amount, a past end, a stale page, no budget, a role below, another’s', async () => {
  const stranger = await house.person('org_admin', { organisationId: house.theirs });
  const user = await house.person('user');
  for (const { scope, path, by } of places) {
    const post = async (body: object, person = by) =>
      (await house.post(person, `${path}/budget-raise`, body)).status;
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
    const foreign = scope.kind === 'organisation' ? 403 : 404;
    expect([scope.kind, refusals]).toEqual([scope.kind, [422, 422, 422, 422, 409, 422, 403, foreign]]);
  }
  const bare = await house.post(admin, `${desk}/departments`, { name: 'Bare' });
  const path = `${desk}/departments/${String(bare.body['id'])}`;
  expect((await house.post(admin, `${path}/budget-raise`, raise)).status).toBe(409);
  expect((await house.get(admin, `${desk}/departments`)).text).toContain(
    'There is no budget that could be raised',
  );
});

test('the form says in words what is missing, and keeps what was typed', async () => {
  const [, department] = places;
  const path = `${department?.path ?? ''}/budget-raise`;
  const answer = await fetch(house.app.url + path, {
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
  const form = formsOf(html).find(({ action }) => action === path);
  expect(form?.fields.find(({ name }) => name === 'raise_amount')?.value).toBe('9.75');
});

test('a department whose budget was raised can be deleted', async () => {
  const made = await house.post(admin, `${desk}/departments`, { name: 'Brief', monthly_budget: 1 });
  const path = `${desk}/departments/${String(made.body['id'])}`;
  expect((await house.post(admin, `${path}/budget-raise`, raise)).status).toBe(200);
  expect((await house.post(admin, `${path}/delete`)).status).toBe(200);
});
