import { budgetsOfUser, Limits, limitRefs } from '#product/billing';
import { parseUsd } from '#product/kernel';
import { parseForms } from '../../support/page-forms';
import { PortalFixture, type Person } from './portal-fixture';

/** Separate budgets of platform and organisation for one user, each with its own permission. */
let fixture: PortalFixture;
let platformAdmin: Person;
let admin: Person;
let person: Person;
beforeAll(async () => {
  fixture = await PortalFixture.open();
  [platformAdmin, admin, person] = [
    await fixture.person('platform_admin'),
    await fixture.person('org_admin'),
    await fixture.person('user'),
  ];
});
afterAll(() => fixture.close());

const path = (act = ''): string => `/dashboard/admin/users/${person.id}${act === '' ? '' : `/${act}`}`;
const saveForm = (by: Person, action: string, form: object) => fixture.post(by, path(action), form);
const budgetStates = () =>
  fixture.app.application.get(Limits, { strict: false }).states(budgetsOfUser(person.id));
const until = new Date(Date.now() + 86_400_000).toISOString();
const prepaid = { billing_type: 'prepaid' };

test("the platform's monthly budget is unaffected by actions of an organisation administrator", async () => {
  await saveForm(platformAdmin, 'monthly-budget', { monthly_budget: 5 });
  const attempts: readonly { budget?: number | null; budget_period?: string }[] = [
    { ...prepaid, budget: 900, budget_period: 'daily' },
    { ...prepaid, budget: null },
    { ...prepaid, budget: 900, budget_period: 'total' },
    { ...prepaid, budget_period: 'rolling' },
  ];
  for (const form of attempts) {
    expect((await saveForm(admin, 'billing-config', form)).status).toBe(200);
    const raise = { raise_amount: 900, raise_until: until, reason: 'More.' };
    expect((await saveForm(admin, 'budget-raise', raise)).status).toBe(form.budget === null ? 409 : 200);
    const [monthly] = await budgetStates();
    expect(monthly).toMatchObject({ limit: parseUsd('5'), period: 'monthly', raised: 0n });
  }
  expect((await saveForm(admin, 'monthly-budget', { monthly_budget: 900 })).status).toBe(403);
});

test('both budgets change independently, with their own periods, and both limit a call', async () => {
  await saveForm(platformAdmin, 'monthly-budget', { monthly_budget: 5 });
  await saveForm(admin, 'budget-raise', { raise_amount: null });
  await saveForm(admin, 'billing-config', { ...prepaid, budget: 3, budget_period: 'daily' });
  expect(await budgetStates()).toMatchObject([
    { limit: parseUsd('5'), period: 'monthly' },
    { limit: parseUsd('3'), period: 'daily' },
  ]);
  const owner = { userId: person.id, keyId: 1, projectId: null, departmentId: null, organisationId: null };
  expect(limitRefs({ ...owner, walletId: null })).toEqual(expect.arrayContaining(budgetsOfUser(person.id)));
  await saveForm(platformAdmin, 'monthly-budget', { monthly_budget: null });
  expect(await budgetStates()).toMatchObject([null, { limit: parseUsd('3'), period: 'daily' }]);
});

test('the user page has one form per budget, each with its own amount', async () => {
  await saveForm(platformAdmin, 'monthly-budget', { monthly_budget: 5 });
  await saveForm(admin, 'billing-config', { ...prepaid, budget: 3, budget_period: 'daily' });
  const { text } = await fixture.get(platformAdmin, path());
  const field = (act: string, name: string) =>
    parseForms(text)
      .find(({ action }) => action === path(act))
      ?.fields.find((one) => one.name === name)?.value;
  expect([field('monthly-budget', 'monthly_budget'), field('billing-config', 'budget')]).toEqual(['5', '3']);
});
