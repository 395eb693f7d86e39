import { Ledger } from '#product/billing';
import { type Payer, PaymentHouse } from './payment-house';

let house: PaymentHouse;
let payer: Payer;

beforeAll(async () => {
  house = await PaymentHouse.start();
});
beforeEach(async () => {
  payer = await house.payer();
  await house.topUp(payer, 10);
});
afterAll(() => house.close());

const path = '/api/billing/auto-topup';
const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };
const stored = async (): Promise<unknown> =>
  (
    await house.rows(
      `SELECT automatic, threshold_nano, top_up_cents, monthly_ceiling_cents FROM billing_account
        WHERE wallet_id = $1`,
      [payer.userId],
    )
  )[0];
const inForce = (amount: string) => ({
  automatic: true,
  threshold_nano: '20000000000',
  top_up_cents: amount,
  monthly_ceiling_cents: '10000',
});

test('a field of a running rule is changed alone, and the rest stays in force', async () => {
  expect((await house.send('POST', path, payer, rule)).status).toBe(200);
  expect(await house.send('POST', path, payer, { amount: 30 })).toMatchObject({
    status: 200,
    body: { ok: true, enabled: true },
  });
  expect(await stored()).toEqual(inForce('3000'));
  expect((await house.send('POST', path, payer, { amount: 2 })).status).toBe(422);
  expect((await house.send('POST', path, payer, { amount: null })).status).toBe(422);
  expect(await stored()).toEqual(inForce('3000'));
  expect((await house.send('POST', path, payer, { enabled: false })).body).toMatchObject({ enabled: false });
  expect(await stored()).toMatchObject({ automatic: false });
});

test('a rule that is off is not changed by halves: what is missing is named', async () => {
  expect(await house.send('POST', path, payer, { amount: 30 })).toMatchObject({
    status: 422,
    body: { param: 'enabled' },
  });
  expect(await house.send('POST', path, payer, { enabled: true, amount: 30 })).toMatchObject({
    status: 422,
    body: { param: 'threshold' },
  });
  expect(await stored()).toMatchObject({ automatic: false });
});

test('a debt that a credit limit covers is shown as one, and requests are not said to be refused', async () => {
  await house.app.database.transaction(
    (tx) =>
      house.app.application.get(Ledger, { strict: false }).post(tx, {
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
    return (await fetch(`${house.app.url}/dashboard/billing`, { headers })).text();
  };
  expect(await page()).toContain('so requests are refused');
  const operator = await house.payer({ role: 'platform_admin' });
  const limit = `/dashboard/admin/users/${payer.userId}/credit-limit`;
  expect((await house.send('POST', limit, operator, { credit_limit: 50 })).status).toBe(200);
  expect(await page()).toContain('requests are still served');
  expect(await page()).not.toContain('so requests are refused');
});
