import type { Browser } from 'playwright-core';
import { type Payer, PaymentFixture } from '../integration/payments/payment-fixture';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser, withPage } from './browser';
import { noIssues } from '../support/browser/page-gate';
import { freePort } from '../system/free-port';

describeWithBrowser('Billing pages', () => {
  let browser: Browser;
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    const port = await freePort();
    [browser, fixture] = await Promise.all([
      launchBrowser(),
      PaymentFixture.start({
        NODE_ENV: 'development',
        PORT: String(port),
        BASE_URL: `http://127.0.0.1:${port}`,
        LOG_LEVEL: 'error',
      }),
    ]);
    payer = await fixture.payer({ displayName: 'Ada Lovelace' });
    const intent = await fixture.topUp(payer, 50);
    await fixture.topUp(payer, 25, '5555555555554444');
    fixture.simulator.account.refundsAndDisputes.refund(intent, 1000);
    await fixture.deliverAll();
    await fixture.checkout(payer, 10);
  });

  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  });

  test.each(['', '?amount=3', '/payments', '/ledger', '/statements'])(
    '/dashboard/billing%s is accessible, complies with the CSP and fits the screen',
    async (path) => {
      const address = `${fixture.app.url}/dashboard/billing${path}`;
      expect(await checkPageInAllViewings(browser, address, payer.cookie)).toEqual(noIssues);
    },
  );

  test("operators' billing page is accessible, complies with the CSP and fits the screen", async () => {
    const operator = await fixture.payer({ role: 'platform_admin', displayName: 'Grace Hopper' });
    const address = `${fixture.app.url}/dashboard/admin/billing?reconcile=30`;
    expect(await checkPageInAllViewings(browser, address, operator.cookie)).toEqual(noIssues);
  });

  test('top-up form shows the amount, the payment is made at the processor and its event credits the wallet', async () => {
    const balanceBefore = await fixture.balance(payer);
    await withPage(browser, { theme: 'light', width: 1280 }, async (page, context) => {
      await setCookie(context, fixture.app.url, payer.cookie);
      await page.goto(`${fixture.app.url}/dashboard/billing`);
      await page.fill('#top-up-amount', '40');
      await page.click('button[formmethod="get"]');
      await page.waitForURL('**/dashboard/billing?amount=40');
      expect(await page.textContent('.total')).toContain('$42.11');
      await page.click('form[action="/api/billing/checkout"] .button-primary');
      await page.waitForURL('**/c/pay/cs_test_*');
      await page.click('button');
      await page.waitForURL('**/dashboard/billing/return?payment=*');
      await page.getByText('Payment received, crediting…').waitFor();
      expect(await fixture.balance(payer)).toBe(balanceBefore);
      await fixture.deliverAll();
      await page.getByText('$40.00 was added to the wallet.').waitFor();
    });
    expect(await fixture.balance(payer)).toBe(balanceBefore + 40_000_000_000n);
  });
});
