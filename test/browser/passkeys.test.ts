import type { Browser, BrowserContext, Page } from 'playwright-core';
import { freePort } from '../system/free-port';
import { goodPassword, registered, startAccountHouse } from '../integration/accounts/account-house';
import type { TestApp } from '../support/app';
import { checkPage, noFaults } from '../support/browser/page-gate';
import { describeWithBrowser, launchBrowser, openContext, viewings, withPage } from './browser';

/** Chromium's own authenticator, driven by its protocol; pages and scripts are what people have. */
describeWithBrowser('passkeys', () => {
  let browser: Browser;
  let app: TestApp;
  let base: string;

  beforeAll(async () => {
    const port = await freePort();
    base = `http://localhost:${port}`;
    [browser, app] = await Promise.all([
      launchBrowser(),
      startAccountHouse({ environment: { NODE_ENV: 'development', PORT: String(port), BASE_URL: base } }),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  async function withDevice(context: BrowserContext): Promise<{ page: Page; refuse: () => Promise<void> }> {
    const page = await context.newPage();
    const devTools = await context.newCDPSession(page);
    await devTools.send('WebAuthn.enable');
    const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const refuse = () =>
      devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }).then(() => {});
    return { page, refuse };
  }

  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto(`${base}/login`);
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(goodPassword);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${base}/dashboard`);
  }

  test('is created in the settings and signs in from the login page, within the policy', async () => {
    const email = await registered(app);
    const context = await openContext(browser, { theme: 'light', width: 1280 });
    context.setDefaultTimeout(15_000);
    try {
      const { page, refuse } = await withDevice(context);
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      await signIn(page, email);
      await page.goto(`${base}/dashboard/settings`);
      const card = page.locator('section.card', { has: page.locator('#passkeys-heading') });
      await card.getByLabel('Name of the passkey').fill('My laptop');
      await card.getByLabel('Current password').fill(goodPassword);
      await card.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByRole('button', { name: 'Create a passkey' }).click();
      await page.getByText('The passkey is added.').waitFor();
      expect(await card.getByRole('listitem').textContent()).toContain('My laptop');

      // A second one on the same device is refused by the device itself.
      await card.getByLabel('Current password').first().fill(goodPassword);
      await card.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByRole('button', { name: 'Create a passkey' }).click();
      await page.getByText('This device already holds a passkey of your account.').waitFor();

      await page.goto(`${base}/logout`);
      await page.goto(`${base}/login?next=/dashboard/keys`);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
      expect(await page.getByText('Passkeys need JavaScript').isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL(`${base}/dashboard/keys`);
      await page.goto(`${base}/logout`);
      expect(complaints).toEqual([]);

      await refuse();
      await page.goto(`${base}/login`);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByText('No passkey was used.').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).isEnabled()).toBe(true);
    } finally {
      await context.close();
    }
  }, 90_000);

  test('its pages are accessible, obey the policy and fit', async () => {
    const email = await registered(app);
    await withPage(browser, viewings[0], async (page) => {
      const others = viewings.slice(1);
      expect(await checkPage(page, `${base}/login`, undefined, others)).toEqual(noFaults);
      await signIn(page, email);
      const settings = `${base}/dashboard/settings`;
      const card = page.locator('section.card', { has: page.locator('#passkeys-heading') });
      const begin = async (): Promise<void> => {
        await card.getByLabel('Current password').fill(goodPassword);
        await card.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByRole('button', { name: 'Create a passkey' }).waitFor();
      };
      expect(await checkPage(page, settings, undefined, others)).toEqual(noFaults);
      expect(await checkPage(page, settings, begin, others)).toEqual(noFaults);
    });
  });

  test('says that it needs scripts where they are off', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en-GB' });
    try {
      const page = await context.newPage();
      await page.goto(`${base}/login`);
      await page.getByText('Passkeys need JavaScript').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    } finally {
      await context.close();
    }
  });
});
