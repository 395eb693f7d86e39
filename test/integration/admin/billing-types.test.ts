import { Invoices, Ledger } from '#product/billing';
import { formatUsd, parseUsd } from '#product/kernel';
import { addKey } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { expectMoneyToAddUp } from '../billing/money-support';
import { House, type Person } from './house';

/** These tests are about who pays, and how: from the wallet, by invoice, or a delegate. */
let house: House;
let supplier: Simulator;
let platform: Person;
let admin: Person;
beforeAll(async () => {
  supplier = await startSimulator();
  house = await House.open({ sandboxUrl: supplier.url });
  [platform, admin] = [await house.person('platform_admin'), await house.person('org_admin')];
});
afterEach(() => expectMoneyToAddUp(house.app.database));
afterAll(async () => {
  await house.close();
  await supplier.stop();
});

const service = <T>(type: abstract new (...values: never[]) => T): T =>
  house.app.application.get(type, { strict: false });
const set = (by: Person, { id }: Person, act: string, form: object) =>
  house.post(by, `/dashboard/admin/users/${id}/${act}`, form);
const ok = async (
  by: Person,
  person: Person,
  act: string,
  form: object,
): Promise<Record<string, unknown>> => {
  const { status, body, text } = await set(by, person, act, form);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return body;
};
const credit = (person: Person, dollars: string) =>
  house.app.database.transaction(
    (tx) =>
      service(Ledger).post(tx, {
        walletId: person.id,
        amount: parseUsd(dollars),
        against: 'adjustment',
        kind: 'gift',
        ref: `${person.id} ${Math.random()}`,
      }),
    { withoutActivity: 'a fixture' },
  );
const balance = async ({ id }: Person) => (await service(Ledger).wallet(id)).balance;
const owed = async ({ id }: Person) => (await service(Invoices).state(id)).owed;

interface Called {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly cost: bigint;
}

async function callerOf(person: Person): Promise<() => Promise<Called>> {
  const { text: key } = await addKey(house.app, person.id);
  return async () => {
    const response = await fetch(`${house.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    });
    const body = (await response.json()) as { error?: { code: string; message: string } };
    return {
      status: response.status,
      code: body.error?.code,
      message: body.error?.message,
      cost: parseUsd(response.headers.get('x-svc-cost-usd') ?? '0'),
    };
  };
}

test('prepaid: an empty wallet refuses, and a filled one pays', async () => {
  const person = await house.person('user');
  const call = await callerOf(person);
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  await credit(person, '1');
  const { status, cost } = await call();
  expect(status).toBe(200);
  expect(await balance(person)).toBe(parseUsd('1') - cost);
});

test('invoiced: served up to the credit limit, the wallet untouched, and again once an invoice is paid', async () => {
  const person = await house.person('user');
  await credit(person, '0.5');
  const call = await callerOf(person);
  await ok(platform, person, 'billing-config', { billing_type: 'invoiced' });
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  const before = await balance(person);
  await ok(platform, person, 'credit-limit', { credit_limit: 5 });
  const first = await call();
  expect(first.status).toBe(200);
  expect([await owed(person), await balance(person)]).toEqual([first.cost, before]);
  await ok(platform, person, 'credit-limit', { credit_limit: '0.000001' });
  const refused = await call();
  expect(refused).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  expect(refused.message).toContain('reached the credit limit of the payer');
  await ok(platform, person, 'invoice-payment', { amount: '2', reference: `bank ${person.id}` });
  expect(await call()).toMatchObject({ status: 200 });
  expect(await balance(person)).toBe(before);
});

test('invoiced without a credit limit: what the platform gave as a budget may be owed, and no more by others', async () => {
  const person = await house.person('user');
  const call = await callerOf(person);
  await ok(platform, person, 'billing-config', {
    billing_type: 'invoiced',
    budget: 5,
    budget_period: 'daily',
  });
  expect(await call()).toMatchObject({ status: 200 });
  const creditOf = async () => (await service(Invoices).state(person.id)).credit;
  expect(await creditOf()).toBe(parseUsd('5'));
  await ok(admin, person, 'billing-config', { billing_type: 'invoiced', budget: 900 });
  expect(await creditOf()).toBe(parseUsd('5'));
  await ok(admin, person, 'billing-config', { billing_type: 'invoiced', budget: '0.000001' });
  expect(await creditOf()).toBe(parseUsd('0.000001'));
  expect(await call()).toMatchObject({ status: 402, code: 'budget_exceeded' });
});

test('a payment is recorded once by its reference, and undone by a posting against it', async () => {
  const person = await house.person('user');
  const call = await callerOf(person);
  await ok(platform, person, 'credit-limit', { credit_limit: 5 });
  await ok(platform, person, 'billing-config', { billing_type: 'invoiced' });
  const { status, cost } = await call();
  expect(status).toBe(200);
  const payment = { amount: '0.25', reference: 'INV 7' };
  expect((await set(admin, person, 'invoice-payment', payment)).status).toBe(403);
  const [one, other] = await Promise.all([
    set(platform, person, 'invoice-payment', payment),
    set(platform, person, 'invoice-payment', payment),
  ]);
  expect([one.status, other.status]).toEqual([200, 200]);
  expect(await owed(person)).toBe(cost - parseUsd('0.25'));
  expect((await set(platform, person, 'invoice-payment', { ...payment, amount: '0.3' })).status).toBe(409);
  for (const wrong of [
    { ...payment, amount: 0 },
    { ...payment, amount: 'much' },
    { amount: 1 },
    { reference: 'x' },
  ])
    expect((await set(platform, person, 'invoice-payment', wrong)).status).toBe(422);
  const { id } = await house.row<{ id: string }>('SELECT id FROM invoice_payment WHERE payer_id = $1', [
    person.id,
  ]);
  const undo = { payment_id: Number(id), reason: 'returned by the bank' };
  expect((await set(platform, person, 'invoice-payment-undo', { payment_id: Number(id) })).status).toBe(422);
  await ok(platform, person, 'invoice-payment-undo', undo);
  await ok(platform, person, 'invoice-payment-undo', undo);
  expect(await owed(person)).toBe(cost);
  expect((await set(platform, person, 'invoice-payment', payment)).status).toBe(409);
  const { body } = await house.get(platform, `/dashboard/admin/users/${person.id}/invoice-payments`);
  expect(body).toMatchObject({
    data: [{ reference: 'INV 7', amount_usd: 0.25, undone_at: expect.any(String) as string }],
    owed_usd: Number(cost) / 1e9,
    may_owe_usd: 5,
  });
  const page = await house.get(platform, `/dashboard/admin/users/${person.id}`);
  expect(page.text).toContain('act-invoice-payment');
  expect((await house.get(platform, `/dashboard/admin/users/${person.id}?tab=billing`)).text).toContain(
    'INV 7',
  );
  expect((await house.get(admin, `/dashboard/admin/users/${person.id}`)).text).not.toContain('act-invoice');
  const actions = await house.app.database.query<{ action: string }>(
    "SELECT action FROM activity WHERE object_id = $1 AND action LIKE 'user.invoice%' ORDER BY id",
    [String(person.id)],
  );
  expect(actions.map(({ action }) => action)).toEqual(['user.invoice-paid', 'user.invoice-payment-undone']);
});

test('the statement shows the usage as owed, as page, CSV, JSON and PDF, and so does the page of billing', async () => {
  const person = await house.person('user');
  const call = await callerOf(person);
  await credit(person, '0.5');
  await ok(platform, person, 'credit-limit', { credit_limit: 5 });
  const prepaid = await call();
  await ok(platform, person, 'billing-config', { billing_type: 'invoiced' });
  expect((await call()).status).toBe(200);
  expect(await owed(person)).toBeGreaterThan(0n);
  await ok(platform, person, 'invoice-payment', { amount: '0.0001', reference: 'INV 8' });
  const left = await owed(person);
  const fetched = async (path: string) => (await house.get(person, path)).text;
  const [page, csv, overview] = [
    await fetched('/dashboard/billing/statements'),
    await fetched('/dashboard/billing/statements/export'),
    await fetched('/dashboard/billing'),
  ];
  expect(page).toContain('Usage by invoice, by member');
  expect(overview).toContain('INV 8');
  expect(csv).toContain(`owed,`);
  expect(csv.split(/\r?\n/).find((line) => line.startsWith('owed,'))).toContain(formatUsd(left));
  expect(csv).toMatch(/invoice_posting,[^,]+,invoice-payment,/);
  const { body } = await house.get(person, '/api/billing/statement');
  const { invoices, wallet } = body as unknown as Record<'invoices' | 'wallet', Record<string, number>>;
  expect(invoices).toMatchObject({ owed_before_usd: 0, owed_usd: Number(left) / 1e9 });
  expect(invoices['usage_usd']).toBeCloseTo(Number(left) / 1e9 + 0.0001, 9);
  expect(wallet['used_usd']! >= Number(prepaid.cost) / 1e9).toBe(true);
  const pdf = await house.get(person, '/dashboard/billing/statements/pdf');
  expect([pdf.status, pdf.text.startsWith('%PDF')]).toEqual([200, true]);
});

test('who leaves the invoices owes it in the wallet, and what was in flight follows', async () => {
  const person = await house.person('user');
  const call = await callerOf(person);
  await ok(platform, person, 'credit-limit', { credit_limit: 5 });
  await ok(platform, person, 'billing-config', { billing_type: 'invoiced' });
  const { status, cost } = await call();
  expect(status).toBe(200);
  const prepaid = { billing_type: 'prepaid' };
  await Promise.all([
    set(platform, person, 'billing-config', prepaid),
    set(platform, person, 'billing-config', prepaid),
  ]);
  expect([await owed(person), await balance(person)]).toEqual([0n, -cost]);
  // As a request that was held before and ended after.
  await house.app.database.query('SELECT money_credit($1, $2, $3, $4, $5)', [
    -person.id,
    '-1000',
    'adjustment',
    'late-usage',
    `late ${person.id}`,
  ]);
  await service(Invoices).moveFormerCharges();
  await service(Invoices).moveFormerCharges();
  expect([await owed(person), await balance(person)]).toEqual([0n, -cost - 1000n]);
});

test('delegated: the delegate pays as their own type says, delegate by delegate, and no circle is made', async () => {
  const [one, two, three] = [
    await house.person('user'),
    await house.person('user'),
    await house.person('user'),
  ];
  const delegated = (to: Person) => ({ billing_type: 'delegated', delegate_user_id: to.id });
  const call = await callerOf(one);
  await ok(admin, one, 'billing-config', delegated(two));
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  await credit(two, '1');
  const { status, cost } = await call();
  expect(status).toBe(200);
  expect([await balance(one), await balance(two)]).toEqual([0n, parseUsd('1') - cost]);
  await ok(admin, two, 'billing-config', delegated(three));
  await ok(platform, three, 'credit-limit', { credit_limit: 5 });
  await ok(platform, three, 'billing-config', { billing_type: 'invoiced' });
  expect((await call()).status).toBe(200);
  expect(await owed(three)).toBeGreaterThan(0n);
  const before = await balance(two);
  const last = await call();
  expect([last.status, await balance(two)]).toEqual([200, before]);
  const circle = await set(admin, three, 'billing-config', delegated(one));
  expect(circle.status).toBe(422);
  expect(circle.text).toContain('circle');
});

// "A suspended delegate's wallet keeps paying".
test('a suspended delegate pays nothing until the account is active again', async () => {
  const [one, two] = [await house.person('user'), await house.person('user')];
  const call = await callerOf(one);
  await credit(one, '1');
  await credit(two, '1');
  await ok(admin, one, 'billing-config', { billing_type: 'delegated', delegate_user_id: two.id });
  expect((await call()).status).toBe(200);
  const left = await balance(two);
  await ok(admin, two, 'status', { status: 'suspended' });
  expect(await call()).toMatchObject({
    status: 403,
    code: 'billing_limit_reached',
    message: expect.stringContaining('The account that pays for this key is not active.'),
  });
  expect([await balance(one), await balance(two)]).toEqual([parseUsd('1'), left]);
  await ok(admin, two, 'status', { status: 'active' });
  expect((await call()).status).toBe(200);
});

test('a chain of delegates is bounded', async () => {
  const people: Person[] = [];
  for (let place = 0; place < 6; place += 1) people.push(await house.person('user'));
  const statuses: number[] = [];
  for (const [place, person] of people.slice(0, 5).entries()) {
    const form = { billing_type: 'delegated', delegate_user_id: people[place + 1]!.id };
    statuses.push((await set(admin, person, 'billing-config', form)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 422]);
});
