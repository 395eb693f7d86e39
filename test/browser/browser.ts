import { existsSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { executablePath, withPage } from '../support/browser/launch';
import { checkPage, type PageFaults } from '../support/browser/page-gate';

export { launchBrowser, openContext, withPage } from '../support/browser/launch';

/** Every theme and every width once. `npm run prove:pages` looks at each page in all four pairs. */
export const viewings = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 360 },
] as const;

/** Opens a page once, as this cookie's owner, and looks at it in both. */
export const checkViewings = (
  browser: Browser,
  address: string,
  cookie = '',
  prepare?: (page: Page) => Promise<void>,
): Promise<PageFaults> =>
  withPage(browser, viewings[0], async (page, context) => {
    await giveCookie(context, address, cookie);
    return checkPage(page, address, () => prepare?.(page) ?? Promise.resolve(), viewings.slice(1));
  });

/** `cookie` as a header would say it. */
export async function giveCookie(context: BrowserContext, url: string, cookie: string): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  if (name !== '') await context.addCookies([{ name, value, url: new URL(url).origin }]);
}

const mustRun = process.env.CI === 'true';

/** Listed as skipped where there is no Chromium, but never on the build machine. */
export const describeWithBrowser = existsSync(executablePath) || mustRun ? describe : describe.skip;
