import { budgetsOfUser, Limits, limitRefs } from '#product/billing';
import { parseUsd } from '#product/kernel';
import { formsOf } from '../../support/page-forms';
import { House, type Person } from './house';

/** The monthly budget of the platform and the budget of the organisation are two, each with its own right. */
let house: House;
let platform: Person;
let admin: Person;
let person: Person;
beforeAll(async () => {
  house = await House.open();
  [platform, admin, person] = [
    await house.person('platform_admin'),
    await house.person('org_admin'),
    await house.person('user'),
  ];
});
afterAll(() => house.close());

const path = (act = ''): string => `/dashboard/admin/users/${person.id}${act === '' ? '' : `/${act}`}`;
const set = (by: Person, act: string, form: object) => house.post(by, path(act), form);
const both = () => house.app.application.get(Limits, { strict: false }).states(budgetsOfUser(person.id));
const until = new Date(Date.now() + 86_400_000).toISOString();
const prepaid = { billing_type: 'prepaid' };

test('what the platform set stays, whatever an administrator of the organisation does', async () => {
  await set(platform, 'monthly-budget', { monthly_budget: 5 });
  const attempts: readonly { budget?: number | null; budget_period?: string }[] = [
    { ...prepaid, budget: 900, budget_period: 'daily' },
    { ...prepaid, budget: null },
    { ...prepaid, budget: 900, budget_period: 'total' },
    { ...prepaid, budget_period: 'rolling' },
  ];
  for (const form of attempts) {
    expect((await set(admin, 'billing-config', form)).status).toBe(200);
    const raise = { raise_amount: 900, raise_until: until, reason: 'More.' };
    expect((await set(admin, 'budget-raise', raise)).status).toBe(form.budget === null ? 409 : 200);
    const [monthly] = await both();
    expect(monthly).toMatchObject({ limit: parseUsd('5'), period: 'monthly', raised: 0n });
  }
  expect((await set(admin, 'monthly-budget', { monthly_budget: 900 })).status).toBe(403);
});

test('each changes alone, with its own period, and a call is held by both', async () => {
  await set(platform, 'monthly-budget', { monthly_budget: 5 });
  await set(admin, 'budget-raise', { raise_amount: null });
  await set(admin, 'billing-config', { ...prepaid, budget: 3, budget_period: 'daily' });
  expect(await both()).toMatchObject([
    { limit: parseUsd('5'), period: 'monthly' },
    { limit: parseUsd('3'), period: 'daily' },
  ]);
  const owner = { userId: person.id, keyId: 1, projectId: null, departmentId: null, organisationId: null };
  expect(limitRefs({ ...owner, walletId: null })).toEqual(expect.arrayContaining(budgetsOfUser(person.id)));
  await set(platform, 'monthly-budget', { monthly_budget: null });
  expect(await both()).toMatchObject([null, { limit: parseUsd('3'), period: 'daily' }]);
});

test('the page of the person has a form of each, with its own amount', async () => {
  await set(platform, 'monthly-budget', { monthly_budget: 5 });
  await set(admin, 'billing-config', { ...prepaid, budget: 3, budget_period: 'daily' });
  const { text } = await house.get(platform, path());
  const field = (act: string, name: string) =>
    formsOf(text)
      .find(({ action }) => action === path(act))
      ?.fields.find((one) => one.name === name)?.value;
  expect([field('monthly-budget', 'monthly_budget'), field('billing-config', 'budget')]).toEqual(['5', '3']);
});
