import { Ledger } from '#product/billing';
import { type Payer, PaymentFixture } from './payment-fixture';

let fixture: PaymentFixture;
let payer: Payer;

beforeAll(async () => {
  fixture = await PaymentFixture.start();
});
beforeEach(async () => {
  payer = await fixture.payer();
  await fixture.topUp(payer, 10);
});
afterAll(() => fixture.close());

const path = '/api/billing/auto-topup';
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };
const storedRule = async (): Promise<unknown> =>
  (
    await fixture.rows(
      `SELECT automatic, threshold_nano, top_up_cents, monthly_ceiling_cents FROM billing_account
        WHERE wallet_id = $1`,
      [payer.userId],
    )
  )[0];
const activeRule = (amount: string) => ({
  automatic: true,
  threshold_nano: '20000000000',
  top_up_cents: amount,
  monthly_ceiling_cents: '10000',
});

test('one field of an enabled rule can be changed alone', async () => {
  expect((await fixture.send('POST', path, payer, rule)).status).toBe(200);
  expect(await fixture.send('POST', path, payer, { amount: 30 })).toMatchObject({
    status: 200,
    body: { ok: true, enabled: true },
  });
  expect(await storedRule()).toEqual(activeRule('3000'));
  expect((await fixture.send('POST', path, payer, { amount: 2 })).status).toBe(422);
  expect((await fixture.send('POST', path, payer, { amount: null })).status).toBe(422);
  expect(await storedRule()).toEqual(activeRule('3000'));
  expect((await fixture.send('POST', path, payer, { enabled: false })).body).toMatchObject({
    enabled: false,
  });
  expect(await storedRule()).toMatchObject({ automatic: false });
});

test('a partial change of a disabled rule is refused, naming the missing fields', async () => {
  expect(await fixture.send('POST', path, payer, { amount: 30 })).toMatchObject({
    status: 422,
    body: { param: 'enabled' },
  });
  expect(await fixture.send('POST', path, payer, { enabled: true, amount: 30 })).toMatchObject({
    status: 422,
    body: { param: 'threshold' },
  });
  expect(await storedRule()).toMatchObject({ automatic: false });
});

test('a balance due within the credit limit is shown without a warning that requests are refused', async () => {
  await fixture.app.database.transaction(
    (tx) =>
      fixture.app.application.get(Ledger, { strict: false }).post(tx, {
        walletId: payer.userId,
        amount: -30_000_000_000n,
        against: 'adjustment',
        kind: 'debt',
        ref: `debt of ${payer.userId}`,
      }),
    { withoutActivity: 'a debt of the test' },
  );
  const page = async (): Promise<string> => {
    const headers = { cookie: payer.cookie, accept: 'text/html' };
    return (await fetch(`${fixture.app.url}/dashboard/billing`, { headers })).text();
  };
  expect(await page()).toContain('so requests are refused');
  const operator = await fixture.payer({ role: 'platform_admin' });
  const limit = `/dashboard/admin/users/${payer.userId}/credit-limit`;
  expect((await fixture.send('POST', limit, operator, { credit_limit: 50 })).status).toBe(200);
  expect(await page()).toContain('requests are still served');
  expect(await page()).not.toContain('so requests are refused');
});
