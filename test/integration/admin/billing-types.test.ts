import { Invoices, Ledger } from '#product/billing';
import { formatUsd, parseUsd } from '#product/kernel';
import { addKey } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { expectMoneyToAddUp } from '../billing/money-fixture';
import { PortalFixture, type Person } from './portal-fixture';

/** Billing types: prepaid from the wallet, invoiced, or delegated to another payer. */
let serviceFixture: PortalFixture;
let supplier: Simulator;
let platformAdmin: Person;
let admin: Person;
beforeAll(async () => {
  supplier = await startSimulator();
  serviceFixture = await PortalFixture.open({ sandboxUrl: supplier.url });
  [platformAdmin, admin] = [
    await serviceFixture.person('platform_admin'),
    await serviceFixture.person('org_admin'),
  ];
});
afterEach(() => expectMoneyToAddUp(serviceFixture.app.database));
afterAll(async () => {
  await serviceFixture.close();
  await supplier.stop();
});

const service = <T>(type: abstract new (...values: never[]) => T): T =>
  serviceFixture.app.application.get(type, { strict: false });
const setBilling = (by: Person, { id }: Person, action: string, form: object) =>
  serviceFixture.post(by, `/dashboard/admin/users/${id}/${action}`, form);
const expectOk = async (
  by: Person,
  person: Person,
  act: string,
  form: object,
): Promise<Record<string, unknown>> => {
  const { status, body, text } = await setBilling(by, person, act, form);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return body;
};
const credit = (person: Person, dollars: string) =>
  serviceFixture.app.database.transaction(
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
const amountOwed = async ({ id }: Person) => (await service(Invoices).state(id)).owed;

interface ModelCallResult {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly cost: bigint;
}

async function callerOf(person: Person): Promise<() => Promise<ModelCallResult>> {
  const { text: key } = await addKey(serviceFixture.app, person.id);
  return async () => {
    const response = await fetch(`${serviceFixture.app.url}/v1/chat/completions`, {
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

test('a prepaid user is refused with an empty wallet and served after a top-up', async () => {
  const person = await serviceFixture.person('user');
  const call = await callerOf(person);
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  await credit(person, '1');
  const { status, cost } = await call();
  expect(status).toBe(200);
  expect(await balance(person)).toBe(parseUsd('1') - cost);
});

test('an invoiced user is served up to the credit limit without using the wallet, and again after a payment', async () => {
  const person = await serviceFixture.person('user');
  await credit(person, '0.5');
  const call = await callerOf(person);
  await expectOk(platformAdmin, person, 'billing-config', { billing_type: 'invoiced' });
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  const balanceBefore = await balance(person);
  await expectOk(platformAdmin, person, 'credit-limit', { credit_limit: 5 });
  const first = await call();
  expect(first.status).toBe(200);
  expect([await amountOwed(person), await balance(person)]).toEqual([first.cost, balanceBefore]);
  await expectOk(platformAdmin, person, 'credit-limit', { credit_limit: '0.000001' });
  const refusal = await call();
  expect(refusal).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  expect(refusal.message).toContain('reached the credit limit of the payer');
  await expectOk(platformAdmin, person, 'invoice-payment', { amount: '2', reference: `bank ${person.id}` });
  expect(await call()).toMatchObject({ status: 200 });
  expect(await balance(person)).toBe(balanceBefore);
});

test("an invoiced user without a credit limit can owe the platform's budget, but not an organisation's", async () => {
  const person = await serviceFixture.person('user');
  const call = await callerOf(person);
  await expectOk(platformAdmin, person, 'billing-config', {
    billing_type: 'invoiced',
    budget: 5,
    budget_period: 'daily',
  });
  expect(await call()).toMatchObject({ status: 200 });
  const creditLimit = async () => (await service(Invoices).state(person.id)).credit;
  expect(await creditLimit()).toBe(parseUsd('5'));
  await expectOk(admin, person, 'billing-config', { billing_type: 'invoiced', budget: 900 });
  expect(await creditLimit()).toBe(parseUsd('5'));
  await expectOk(admin, person, 'billing-config', { billing_type: 'invoiced', budget: '0.000001' });
  expect(await creditLimit()).toBe(parseUsd('0.000001'));
  expect(await call()).toMatchObject({ status: 402, code: 'budget_exceeded' });
});

test('a payment is recorded once per reference, and a reversal posts the opposite amount', async () => {
  const person = await serviceFixture.person('user');
  const call = await callerOf(person);
  await expectOk(platformAdmin, person, 'credit-limit', { credit_limit: 5 });
  await expectOk(platformAdmin, person, 'billing-config', { billing_type: 'invoiced' });
  const { status, cost } = await call();
  expect(status).toBe(200);
  const payment = { amount: '0.25', reference: 'INV 7' };
  expect((await setBilling(admin, person, 'invoice-payment', payment)).status).toBe(403);
  const [one, other] = await Promise.all([
    setBilling(platformAdmin, person, 'invoice-payment', payment),
    setBilling(platformAdmin, person, 'invoice-payment', payment),
  ]);
  expect([one.status, other.status]).toEqual([200, 200]);
  expect(await amountOwed(person)).toBe(cost - parseUsd('0.25'));
  expect(
    (await setBilling(platformAdmin, person, 'invoice-payment', { ...payment, amount: '0.3' })).status,
  ).toBe(409);
  for (const invalidPayment of [
    { ...payment, amount: 0 },
    { ...payment, amount: 'much' },
    { amount: 1 },
    { reference: 'x' },
  ])
    expect((await setBilling(platformAdmin, person, 'invoice-payment', invalidPayment)).status).toBe(422);
  const { id } = await serviceFixture.row<{ id: string }>(
    'SELECT id FROM invoice_payment WHERE payer_id = $1',
    [person.id],
  );
  const reversal = { payment_id: Number(id), reason: 'returned by the bank' };
  expect(
    (await setBilling(platformAdmin, person, 'invoice-payment-undo', { payment_id: Number(id) })).status,
  ).toBe(422);
  await expectOk(platformAdmin, person, 'invoice-payment-undo', reversal);
  await expectOk(platformAdmin, person, 'invoice-payment-undo', reversal);
  expect(await amountOwed(person)).toBe(cost);
  expect((await setBilling(platformAdmin, person, 'invoice-payment', payment)).status).toBe(409);
  const { body } = await serviceFixture.get(
    platformAdmin,
    `/dashboard/admin/users/${person.id}/invoice-payments`,
  );
  expect(body).toMatchObject({
    data: [{ reference: 'INV 7', amount_usd: 0.25, undone_at: expect.any(String) as string }],
    owed_usd: Number(cost) / 1e9,
    may_owe_usd: 5,
  });
  const page = await serviceFixture.get(platformAdmin, `/dashboard/admin/users/${person.id}`);
  expect(page.text).toContain('act-invoice-payment');
  expect(
    (await serviceFixture.get(platformAdmin, `/dashboard/admin/users/${person.id}?tab=billing`)).text,
  ).toContain('INV 7');
  expect((await serviceFixture.get(admin, `/dashboard/admin/users/${person.id}`)).text).not.toContain(
    'act-invoice',
  );
  const actions = await serviceFixture.app.database.query<{ action: string }>(
    "SELECT action FROM activity WHERE object_id = $1 AND action LIKE 'user.invoice%' ORDER BY id",
    [String(person.id)],
  );
  expect(actions.map(({ action }) => action)).toEqual(['user.invoice-paid', 'user.invoice-payment-undone']);
});

test('the statement and the billing page show invoiced usage as owed, in HTML, CSV, JSON and PDF', async () => {
  const person = await serviceFixture.person('user');
  const call = await callerOf(person);
  await credit(person, '0.5');
  await expectOk(platformAdmin, person, 'credit-limit', { credit_limit: 5 });
  const prepaidCall = await call();
  await expectOk(platformAdmin, person, 'billing-config', { billing_type: 'invoiced' });
  expect((await call()).status).toBe(200);
  expect(await amountOwed(person)).toBeGreaterThan(0n);
  await expectOk(platformAdmin, person, 'invoice-payment', { amount: '0.0001', reference: 'INV 8' });
  const remainingDebt = await amountOwed(person);
  const fetchText = async (path: string) => (await serviceFixture.get(person, path)).text;
  const [page, csv, overview] = [
    await fetchText('/dashboard/billing/statements'),
    await fetchText('/dashboard/billing/statements/export'),
    await fetchText('/dashboard/billing'),
  ];
  expect(page).toContain('Usage by invoice, by member');
  expect(overview).toContain('INV 8');
  expect(csv).toContain(`owed,`);
  expect(csv.split(/\r?\n/).find((line) => line.startsWith('owed,'))).toContain(formatUsd(remainingDebt));
  expect(csv).toMatch(/invoice_posting,[^,]+,invoice-payment,/);
  const { body } = await serviceFixture.get(person, '/api/billing/statement');
  const { invoices, wallet } = body as unknown as Record<'invoices' | 'wallet', Record<string, number>>;
  expect(invoices).toMatchObject({ owed_before_usd: 0, owed_usd: Number(remainingDebt) / 1e9 });
  expect(invoices['usage_usd']).toBeCloseTo(Number(remainingDebt) / 1e9 + 0.0001, 9);
  expect(wallet['used_usd']! >= Number(prepaidCall.cost) / 1e9).toBe(true);
  const pdf = await serviceFixture.get(person, '/dashboard/billing/statements/pdf');
  expect([pdf.status, pdf.text.startsWith('%PDF')]).toEqual([200, true]);
});

test('switching from invoices to prepaid moves the debt to the wallet, including requests in flight', async () => {
  const person = await serviceFixture.person('user');
  const call = await callerOf(person);
  await expectOk(platformAdmin, person, 'credit-limit', { credit_limit: 5 });
  await expectOk(platformAdmin, person, 'billing-config', { billing_type: 'invoiced' });
  const { status, cost } = await call();
  expect(status).toBe(200);
  const prepaid = { billing_type: 'prepaid' };
  await Promise.all([
    setBilling(platformAdmin, person, 'billing-config', prepaid),
    setBilling(platformAdmin, person, 'billing-config', prepaid),
  ]);
  expect([await amountOwed(person), await balance(person)]).toEqual([0n, -cost]);
  // A request that was held before the switch and settled after it.
  await serviceFixture.app.database.query('SELECT money_credit($1, $2, $3, $4, $5)', [
    -person.id,
    '-1000',
    'adjustment',
    'late-usage',
    `late ${person.id}`,
  ]);
  await service(Invoices).moveFormerCharges();
  await service(Invoices).moveFormerCharges();
  expect([await amountOwed(person), await balance(person)]).toEqual([0n, -cost - 1000n]);
});

test('a delegate pays by their own billing type, chains of delegates work, and payment loops are refused', async () => {
  const [one, two, three] = [
    await serviceFixture.person('user'),
    await serviceFixture.person('user'),
    await serviceFixture.person('user'),
  ];
  const delegateTo = (to: Person) => ({ billing_type: 'delegated', delegate_user_id: to.id });
  const call = await callerOf(one);
  await expectOk(admin, one, 'billing-config', delegateTo(two));
  expect(await call()).toMatchObject({ status: 403, code: 'billing_limit_reached' });
  await credit(two, '1');
  const { status, cost } = await call();
  expect(status).toBe(200);
  expect([await balance(one), await balance(two)]).toEqual([0n, parseUsd('1') - cost]);
  await expectOk(admin, two, 'billing-config', delegateTo(three));
  await expectOk(platformAdmin, three, 'credit-limit', { credit_limit: 5 });
  await expectOk(platformAdmin, three, 'billing-config', { billing_type: 'invoiced' });
  expect((await call()).status).toBe(200);
  expect(await amountOwed(three)).toBeGreaterThan(0n);
  const balanceBefore = await balance(two);
  const lastCall = await call();
  expect([lastCall.status, await balance(two)]).toEqual([200, balanceBefore]);
  const loopResponse = await setBilling(admin, three, 'billing-config', delegateTo(one));
  expect(loopResponse.status).toBe(422);
  expect(loopResponse.text).toContain('circle');
});

// "A suspended delegate's wallet keeps paying".
test('a suspended delegate pays nothing until the account is active again', async () => {
  const [one, two] = [await serviceFixture.person('user'), await serviceFixture.person('user')];
  const call = await callerOf(one);
  await credit(one, '1');
  await credit(two, '1');
  await expectOk(admin, one, 'billing-config', { billing_type: 'delegated', delegate_user_id: two.id });
  expect((await call()).status).toBe(200);
  const balanceLeft = await balance(two);
  await expectOk(admin, two, 'status', { status: 'suspended' });
  expect(await call()).toMatchObject({
    status: 403,
    code: 'billing_limit_reached',
    message: expect.stringContaining('The account that pays for this key is not active.'),
  });
  expect([await balance(one), await balance(two)]).toEqual([parseUsd('1'), balanceLeft]);
  await expectOk(admin, two, 'status', { status: 'active' });
  expect((await call()).status).toBe(200);
});

test('the length of a delegate chain is limited', async () => {
  const users: Person[] = [];
  for (let position = 0; position < 6; position += 1) users.push(await serviceFixture.person('user'));
  const statuses: number[] = [];
  for (const [place, person] of users.slice(0, 5).entries()) {
    const form = { billing_type: 'delegated', delegate_user_id: users[place + 1]!.id };
    statuses.push((await setBilling(admin, person, 'billing-config', form)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 422]);
});
