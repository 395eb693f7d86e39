import type { Browser } from 'playwright-core';
import type { TestApp } from '../support/app';
import { startPublicSite } from '../support/public-site';
import { checkPageInAllViewings, describeWithBrowser, launchBrowser, viewings, withPage } from './browser';
import { checkPage, noIssues } from '../support/browser/page-gate';

const paths = [
  '/',
  '/pricing',
  '/pricing?amount=1',
  '/models-public',
  '/models-public?q=nothing',
  '/features',
  '/api-docs',
  '/api-docs/errors',
  '/guide',
  '/security',
  '/controls',
  '/certifications',
  '/developers',
  '/developers/api',
  '/legal/terms',
  '/legal/privacy',
];

describeWithBrowser('Public pages in a browser', () => {
  let browser: Browser;
  let site: TestApp;

  beforeAll(async () => {
    [browser, site] = await Promise.all([launchBrowser(), startPublicSite()]);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test.each(paths)('%s is accessible, complies with the CSP and fits the screen', async (path) => {
    expect(await checkPageInAllViewings(browser, site.url + path)).toEqual(noIssues);
  });

  // The Swagger UI markup is third-party and not checked for accessibility; the reference next to it has the same
  // content and is.
  test('request can be tried under the CSP, and no request leaves the host', async () => {
    await withPage(browser, viewings[1], async (page) => {
      const foreignRequests: string[] = [];
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== 'data:' && origin !== site.url) foreignRequests.push(request.url());
      });
      const pageFaults = await checkPage(page, `${site.url}/api-docs/try`, async () => {
        await page.click('#operations-Service-health .opblock-summary-control');
        await page.click('#operations-Service-health .try-out__btn');
        await page.click('#operations-Service-health .execute');
        await page.waitForSelector(
          '#operations-Service-health .live-responses-table .response-col_status:text("200")',
        );
      });
      expect({ ...pageFaults, accessibility: [] }).toEqual(noIssues);
      expect(foreignRequests).toEqual([]);
    });
  });
});
