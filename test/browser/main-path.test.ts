import { randomBytes } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { Outbox } from '#product/platform';
import { freePort } from '../system/free-port';
import { PaymentFixture } from '../integration/payments/payment-fixture';
import { type Simulator, startSimulator } from '../support/simulator';
import { describeWithBrowser, launchBrowser } from './browser';
import { until } from '../support/until';

const password = 'kettle orbit mosaic thunder';

/** The complete path of a new customer from sign-up to statement, in any browser. */
describeWithBrowser('Customer path from sign-up to statement', () => {
  let browser: Browser;
  let fixture: PaymentFixture;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    const port = await freePort();
    [browser, fixture] = await Promise.all([
      launchBrowser(),
      PaymentFixture.start(
        {
          NODE_ENV: 'development',
          PORT: String(port),
          BASE_URL: `http://127.0.0.1:${port}`,
          LOG_LEVEL: 'error',
        },
        { sandboxUrl: supplier.url },
      ),
    ]);
  });

  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
    await supplier?.stop();
  });

  test.each([true, false])(
    'new customer completes every step with scripts: %s',
    async (javaScriptEnabled) => {
      const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
      context.setDefaultTimeout(15_000);
      try {
        const page = await context.newPage();
        await signUp(page);
        await topUp(page, javaScriptEnabled);
        const key = await createKey(page);
        await sendFirstRequest(page, key);
        await chatInBrowser(page, javaScriptEnabled);
        await openStatement(page);
      } finally {
        await context.close();
      }
    },
    120_000,
  );

  const openPage = (page: Page, path: string) => page.goto(fixture.app.url + path);

  async function signUp(page: Page): Promise<void> {
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    await openPage(page, '/');
    await page.getByRole('link', { name: 'Sign up' }).first().click();
    await page.getByLabel('Name').fill('Anna Weber');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('We have sent you an email.').waitFor();
    await page.goto(await findLinkSentTo(email));
    await page.getByRole('button', { name: 'Confirm address' }).click();
    await page.getByText('Your address is confirmed. Sign in.').waitFor();
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  async function findLinkSentTo(email: string): Promise<string> {
    const outbox = fixture.app.application.get(Outbox, { strict: false });
    const mailOf = async () => (await outbox.list()).find(({ to }) => to === email);
    await until(async () => (await mailOf()) !== undefined);
    return /http\S+token=[\w-]+/.exec((await mailOf())?.text ?? '')?.[0] ?? '';
  }

  /** The balance changes with the processor's event and never by returning from its page alone. */
  async function topUp(page: Page, withScripts: boolean): Promise<void> {
    await openPage(page, '/dashboard/billing?amount=40');
    expect(await page.textContent('.total')).toContain('$42.11');
    await page.locator('form[action="/api/billing/checkout"] .button-primary').click();
    await page.waitForURL('**/c/pay/cs_test_*');
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('Payment received, crediting…').waitFor();
    await fixture.deliverAll();
    if (!withScripts) await page.reload();
    await page.getByText('$40.00 was added to the wallet.').waitFor();
  }

  async function createKey(page: Page): Promise<string> {
    await openPage(page, '/dashboard/keys');
    await page.getByRole('link', { name: 'New key' }).first().click();
    await page.getByLabel('Name').first().fill('first steps');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await page.locator('.secret-value code').innerText();
    expect(key).toMatch(/^svc_\w{20,}$/);
    await page.locator('.secret-done input').check();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('first steps').first().waitFor();
    expect(await page.content()).not.toContain(key);
    return key;
  }

  async function sendFirstRequest(page: Page, key: string): Promise<void> {
    await openPage(page, '/dashboard/first-request');
    expect(await page.locator('main').innerText()).toContain('Waiting for the first request.');
    const answer = await fetch(`${fixture.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        messages: [{ role: 'user', content: 'Hello [[tokens=400]]' }],
      }),
    });
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('x-svc-cost-usd'))).toBeGreaterThan(0);
    await openPage(page, '/dashboard/request-log');
    const row = page.locator('tbody tr').filter({ hasText: 'sim-large' }).first();
    expect(await row.innerText()).toMatch(/200[\s\S]*first steps/);
  }

  async function chatInBrowser(page: Page, withScripts: boolean): Promise<void> {
    await openPage(page, '/dashboard/webchat');
    await page.locator('#chat-message').fill('Say it [[echo=**well** said]]');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.locator('#chat-log .message-assistant').first();
    // Scripts render Markdown; without them a response is plain text.
    await answer
      .getByText(withScripts ? 'well' : '**well** said', { exact: withScripts })
      .first()
      .waitFor();
    await answer.locator('.message-foot > span:not(.route)').first().waitFor();
    await openPage(page, '/dashboard/request-log');
    await page.locator('tbody tr').filter({ hasText: 'Web chat' }).first().waitFor();
  }

  async function openStatement(page: Page): Promise<void> {
    await openPage(page, '/dashboard/billing/statements');
    expect(await page.locator('main').innerText()).toMatch(/Closing balance\s+\$39\.9\d[\s\S]*\$40\.00/);
    const file = await page.request.get(`${fixture.app.url}/dashboard/billing/statements/pdf`);
    expect([file.status(), file.headers()['content-type']]).toEqual([200, 'application/pdf']);
  }
});
