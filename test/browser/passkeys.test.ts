import type { Browser, BrowserContext, Page } from 'playwright-core';
import { freePort } from '../system/free-port';
import { goodPassword, registerUser, startAccountFixture } from '../integration/accounts/account-fixture';
import type { TestApp } from '../support/app';
import { checkPage, noIssues } from '../support/browser/page-gate';
import { describeWithBrowser, launchBrowser, openContext, viewings, withPage } from './browser';

/** Uses Chromium's virtual authenticator through DevTools; pages and scripts are those of users. */
describeWithBrowser('Passkeys', () => {
  let browser: Browser;
  let app: TestApp;
  let baseUrl: string;

  beforeAll(async () => {
    const port = await freePort();
    baseUrl = `http://localhost:${port}`;
    [browser, app] = await Promise.all([
      launchBrowser(),
      startAccountFixture({
        environment: { NODE_ENV: 'development', PORT: String(port), BASE_URL: baseUrl },
      }),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  async function addAuthenticator(
    context: BrowserContext,
  ): Promise<{ page: Page; refuse: () => Promise<void> }> {
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
    const refuseRequests = () =>
      devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }).then(() => {});
    return { page, refuse: refuseRequests };
  }

  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto(`${baseUrl}/login`);
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(goodPassword);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${baseUrl}/dashboard`);
  }

  test('passkey is created in the settings and signs in from the login page under the CSP', async () => {
    const email = await registerUser(app);
    const context = await openContext(browser, { theme: 'light', width: 1280 });
    context.setDefaultTimeout(15_000);
    try {
      const { page, refuse } = await addAuthenticator(context);
      const consoleErrors: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') consoleErrors.push(message.text());
      });
      page.on('pageerror', (error) => consoleErrors.push(error.message));
      await signIn(page, email);
      await page.goto(`${baseUrl}/dashboard/settings`);
      const card = page.locator('section.card', { has: page.locator('#passkeys-heading') });
      await card.getByLabel('Name of the passkey').fill('My laptop');
      await card.getByLabel('Current password').fill(goodPassword);
      await card.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByRole('button', { name: 'Create a passkey' }).click();
      await page.getByText('The passkey is added.').waitFor();
      expect(await card.getByRole('listitem').textContent()).toContain('My laptop');

      // A second passkey on the same device is refused by the device.
      await card.getByLabel('Current password').first().fill(goodPassword);
      await card.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByRole('button', { name: 'Create a passkey' }).click();
      await page.getByText('This device already holds a passkey of your account.').waitFor();

      await page.goto(`${baseUrl}/logout`);
      await page.goto(`${baseUrl}/login?next=/dashboard/keys`);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
      expect(await page.getByText('Passkeys need JavaScript').isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL(`${baseUrl}/dashboard/keys`);
      await page.goto(`${baseUrl}/logout`);
      expect(consoleErrors).toEqual([]);

      await refuse();
      await page.goto(`${baseUrl}/login`);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByText('No passkey was used.').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).isEnabled()).toBe(true);
    } finally {
      await context.close();
    }
  }, 90_000);

  test('passkey pages are accessible, comply with the CSP and fit the screen', async () => {
    const email = await registerUser(app);
    await withPage(browser, viewings[0], async (page) => {
      const otherViewings = viewings.slice(1);
      expect(await checkPage(page, `${baseUrl}/login`, undefined, otherViewings)).toEqual(noIssues);
      await signIn(page, email);
      const settings = `${baseUrl}/dashboard/settings`;
      const card = page.locator('section.card', { has: page.locator('#passkeys-heading') });
      const openDialog = async (): Promise<void> => {
        await card.getByLabel('Current password').fill(goodPassword);
        await card.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByRole('button', { name: 'Create a passkey' }).waitFor();
      };
      expect(await checkPage(page, settings, undefined, otherViewings)).toEqual(noIssues);
      expect(await checkPage(page, settings, openDialog, otherViewings)).toEqual(noIssues);
    });
  });

  test('passkey section says that it needs scripts when they are disabled', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en-GB' });
    try {
      const page = await context.newPage();
      await page.goto(`${baseUrl}/login`);
      await page.getByText('Passkeys need JavaScript').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    } finally {
      await context.close();
    }
  });
});
