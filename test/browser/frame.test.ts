import type { Browser, BrowserContext } from 'playwright-core';
import { ActivityLog } from '#product/audit';
import { Organisation } from '#product/identity';
import { startTestApp, type TestApp } from '../support/app';
import { addUser, signIn } from '../support/users';
import {
  checkPageInAllViewings,
  describeWithBrowser,
  setCookie,
  launchBrowser,
  viewings,
  withPage,
} from './browser';
import { checkPage, noIssues } from '../support/browser/page-gate';
import { until } from '../support/until';

describeWithBrowser('Dashboard layout', () => {
  let browser: Browser;
  let app: TestApp;
  let owner: string;

  beforeAll(async () => {
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const organisations = app.database.source.getRepository(Organisation);
    await organisations.insert(organisations.create({ name: 'Acme GmbH', slug: 'acme' }));
    const userId = await addUser(app, 'platform_owner');
    owner = await signIn(app, userId);
    await app.database.transaction(async (tx) => {
      for (let index = 0; index < 60; index += 1) {
        await app.application.get(ActivityLog, { strict: false }).write(tx, {
          action: 'organisation.changed',
          object: {
            type: 'organisation',
            id: index,
            label: `A rather long name of an organisation, number ${index}`,
          },
          concerns: { userId },
          changes: { name: ['before', 'after'] },
          reason: 'asked by letter',
          actor: { kind: 'system', label: 'the command line' },
        });
      }
    });
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  const setSession = (context: BrowserContext, session = owner): Promise<void> =>
    setCookie(context, app.url, session);

  test.each(['/dashboard/activity', '/dashboard/activity?q=absent', '/dashboard/jump?q=zzz'])(
    '%s is accessible, complies with the CSP and fits the screen',
    async (path) => {
      expect(await checkPageInAllViewings(browser, app.url + path, owner)).toEqual(noIssues);
    },
  );

  test('administration view with its notice and an open detail is accessible, complies with the CSP and fits', async () => {
    const session = await signIn(app, await addUser(app, 'platform_owner'));
    const pageFaults = await withPage(browser, viewings[0], async (page, context) => {
      await setSession(context, session);
      await page.goto(`${app.url}/dashboard/activity`);
      await page.click('form[action="/dashboard/toggle-admin-mode"] button');
      await page.waitForURL('**/dashboard');
      const openDetail = async (): Promise<void> => {
        await page.waitForSelector('.admin-strip select');
        await page.click('[data-toggle-row] >> nth=0');
      };
      return checkPage(page, `${app.url}/dashboard/activity`, openDetail, viewings.slice(1));
    });
    expect(pageFaults).toEqual(noIssues);
  });

  test('single-letter shortcut can be switched off', async () => {
    await withPage(browser, { theme: 'light', width: 1280 }, async (page, context) => {
      await setSession(context);
      const focusAfterSlash = async (): Promise<string> => {
        await page.goto(`${app.url}/dashboard/request-log`, { waitUntil: 'load' });
        await page.keyboard.press('/');
        return page.evaluate('document.activeElement.id');
      };
      expect(await focusAfterSlash()).toBe('filter-request_id');
      await page.goto(`${app.url}/dashboard/settings`, { waitUntil: 'load' });
      await page.uncheck('#shortcuts-choice');
      expect(await focusAfterSlash()).toBe('');
      await page.goto(`${app.url}/dashboard/settings`, { waitUntil: 'load' });
      expect(await page.isChecked('#shortcuts-choice')).toBe(false);
      await page.check('#shortcuts-choice');
      expect(await focusAfterSlash()).toBe('filter-request_id');
    });
  });

  test('rejected form opens at its field and navigation at its current entry on a narrow screen', async () => {
    const boxScript = (id: string) => `(() => {
      const { top, bottom, left, right } = document.querySelector('${id}').getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth;
    })()`;
    await withPage(browser, { theme: 'light', width: 360 }, async (page, context) => {
      await setSession(context);
      await page.goto(`${app.url}/dashboard/settings`);
      expect(await page.evaluate(boxScript('.nav [aria-current]'))).toBe(true);
      const confirmation = page.locator('#confirmation');
      await confirmation.fill('not the address');
      await confirmation.press('Enter');
      await page.waitForSelector('#confirmation[aria-invalid]');
      expect(await page.evaluate('document.activeElement.id')).toBe('confirmation');
      await until(() => page.evaluate<boolean>(boxScript('#confirmation')));
      expect(await confirmation.inputValue()).toBe('not the address');
    });
  });
});
