import type { Browser } from 'playwright-core';
import { type Payer, PaymentHouse } from '../integration/payments/payment-house';
import { checkViewings, describeWithBrowser, giveCookie, launchBrowser, withPage } from './browser';
import { noFaults } from '../support/browser/page-gate';
import { freePort } from '../system/free-port';

describeWithBrowser('the pages of billing', () => {
  let browser: Browser;
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    const port = await freePort();
    [browser, house] = await Promise.all([
      launchBrowser(),
      PaymentHouse.start({
        NODE_ENV: 'development',
        PORT: String(port),
        BASE_URL: `http://127.0.0.1:${port}`,
        LOG_LEVEL: 'error',
      }),
    ]);
    payer = await house.payer({ displayName: 'Ada Lovelace' });
    const intent = await house.topUp(payer, 50);
    await house.topUp(payer, 25, '5555555555554444');
    house.simulator.account.back.refund(intent, 1000);
    await house.deliverAll();
    await house.checkout(payer, 10);
  });

  afterAll(async () => {
    await browser?.close();
    await house?.close();
  });

  test.each(['', '?amount=3', '/payments', '/ledger', '/statements'])(
    '/dashboard/billing%s is accessible, obeys the policy and fits',
    async (path) => {
      const address = `${house.app.url}/dashboard/billing${path}`;
      expect(await checkViewings(browser, address, payer.cookie)).toEqual(noFaults);
    },
  );

  test('so is the operators’ desk', async () => {
    const operator = await house.payer({ role: 'platform_admin', displayName: 'Grace Hopper' });
    const address = `${house.app.url}/dashboard/admin/billing?reconcile=30`;
    expect(await checkViewings(browser, address, operator.cookie)).toEqual(noFaults);
  });

  test('from the form to the credit: worked out, paid on the processor’s page, credited by its event', async () => {
    const before = await house.balance(payer);
    await withPage(browser, { theme: 'light', width: 1280 }, async (page, context) => {
      await giveCookie(context, house.app.url, payer.cookie);
      await page.goto(`${house.app.url}/dashboard/billing`);
      await page.fill('#top-up-amount', '40');
      await page.click('button[formmethod="get"]');
      await page.waitForURL('**/dashboard/billing?amount=40');
      expect(await page.textContent('.total')).toContain('$42.11');
      await page.click('form[action="/api/billing/checkout"] .button-primary');
      await page.waitForURL('**/c/pay/cs_test_*');
      await page.click('button');
      await page.waitForURL('**/dashboard/billing/return?payment=*');
      await page.getByText('Payment received, crediting…').waitFor();
      expect(await house.balance(payer)).toBe(before);
      await house.deliverAll();
      await page.getByText('$40.00 was added to the wallet.').waitFor();
    });
    expect(await house.balance(payer)).toBe(before + 40_000_000_000n);
  });
});
