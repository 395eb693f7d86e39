import { existsSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { executablePath, withPage } from '../support/browser/launch';
import { checkPage, type PageIssues } from '../support/browser/page-gate';

export { launchBrowser, openContext, withPage } from '../support/browser/launch';

/** Covers every theme and every width once; `npm run prove:pages` checks each page in all four combinations. */
export const viewings = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 360 },
] as const;

/** Opens a page as the owner of the cookie and checks it in both viewings. */
export const checkPageInAllViewings = (
  browser: Browser,
  address: string,
  cookie = '',
  prepare?: (page: Page) => Promise<void>,
): Promise<PageIssues> =>
  withPage(browser, viewings[0], async (page, context) => {
    await setCookie(context, address, cookie);
    return checkPage(page, address, () => prepare?.(page) ?? Promise.resolve(), viewings.slice(1));
  });

/** Sets a cookie given in the format of a Cookie header. */
export async function setCookie(context: BrowserContext, url: string, cookie: string): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  if (name !== '') await context.addCookies([{ name, value, url: new URL(url).origin }]);
}

const mustRun = process.env.CI === 'true';

/** Skipped without Chromium, except in CI. */
export const describeWithBrowser = existsSync(executablePath) || mustRun ? describe : describe.skip;
