import { randomBytes } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { Outbox } from '#product/platform';
import { freePort } from '../system/free-port';
import { PaymentHouse } from '../integration/payments/payment-house';
import { type Simulator, startSimulator } from '../support/simulator';
import { describeWithBrowser, launchBrowser } from './browser';
import { until } from '../support/until';

const password = 'kettle orbit mosaic thunder';

/** A new customer goes this way, from the sign-up to the statement, in any browser. */
describeWithBrowser('from the sign-up to the statement', () => {
  let browser: Browser;
  let house: PaymentHouse;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    const port = await freePort();
    [browser, house] = await Promise.all([
      launchBrowser(),
      PaymentHouse.start(
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
    await house?.close();
    await supplier?.stop();
  });

  test.each([true, false])(
    'with scripts: %s',
    async (javaScriptEnabled) => {
      const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
      context.setDefaultTimeout(15_000);
      try {
        const page = await context.newPage();
        await signUp(page);
        await topUp(page, javaScriptEnabled);
        const key = await newKey(page);
        await firstRequest(page, key);
        await chat(page, javaScriptEnabled);
        await statement(page);
      } finally {
        await context.close();
      }
    },
    120_000,
  );

  const open = (page: Page, path: string) => page.goto(house.app.url + path);

  async function signUp(page: Page): Promise<void> {
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    await open(page, '/');
    await page.getByRole('link', { name: 'Sign up' }).first().click();
    await page.getByLabel('Name').fill('Anna Weber');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('We have sent you an email.').waitFor();
    await page.goto(await linkSentTo(email));
    await page.getByRole('button', { name: 'Confirm address' }).click();
    await page.getByText('Your address is confirmed. Sign in.').waitFor();
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  async function linkSentTo(email: string): Promise<string> {
    const outbox = house.app.application.get(Outbox, { strict: false });
    const mailOf = async () => (await outbox.list()).find(({ to }) => to === email);
    await until(async () => (await mailOf()) !== undefined);
    return /http\S+token=[\w-]+/.exec((await mailOf())?.text ?? '')?.[0] ?? '';
  }

  /** The money is there once the processor has said so, never by the way back alone. */
  async function topUp(page: Page, withScripts: boolean): Promise<void> {
    await open(page, '/dashboard/billing?amount=40');
    expect(await page.textContent('.total')).toContain('$42.11');
    await page.locator('form[action="/api/billing/checkout"] .button-primary').click();
    await page.waitForURL('**/c/pay/cs_test_*');
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('Payment received, crediting…').waitFor();
    await house.deliverAll();
    if (!withScripts) await page.reload();
    await page.getByText('$40.00 was added to the wallet.').waitFor();
  }

  async function newKey(page: Page): Promise<string> {
    await open(page, '/dashboard/keys');
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

  async function firstRequest(page: Page, key: string): Promise<void> {
    await open(page, '/dashboard/first-request');
    expect(await page.locator('main').innerText()).toContain('Waiting for the first request.');
    const answer = await fetch(`${house.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        messages: [{ role: 'user', content: 'Hello [[tokens=400]]' }],
      }),
    });
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('x-svc-cost-usd'))).toBeGreaterThan(0);
    await open(page, '/dashboard/request-log');
    const row = page.locator('tbody tr').filter({ hasText: 'sim-large' }).first();
    expect(await row.innerText()).toMatch(/200[\s\S]*first steps/);
  }

  async function chat(page: Page, withScripts: boolean): Promise<void> {
    await open(page, '/dashboard/webchat');
    await page.locator('#chat-message').fill('Say it [[echo=**well** said]]');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.locator('#chat-log .message-assistant').first();
    // Markdown is drawn by scripts; without them an answer is the text that it is.
    await answer
      .getByText(withScripts ? 'well' : '**well** said', { exact: withScripts })
      .first()
      .waitFor();
    await answer.locator('.message-foot > span:not(.route)').first().waitFor();
    await open(page, '/dashboard/request-log');
    await page.locator('tbody tr').filter({ hasText: 'Web chat' }).first().waitFor();
  }

  async function statement(page: Page): Promise<void> {
    await open(page, '/dashboard/billing/statements');
    expect(await page.locator('main').innerText()).toMatch(/Closing balance\s+\$39\.9\d[\s\S]*\$40\.00/);
    const file = await page.request.get(`${house.app.url}/dashboard/billing/statements/pdf`);
    expect([file.status(), file.headers()['content-type']]).toEqual([200, 'application/pdf']);
  }
});
