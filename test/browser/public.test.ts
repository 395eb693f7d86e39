import type { Browser } from 'playwright-core';
import type { TestApp } from '../support/app';
import { startPublicSite } from '../support/public-site';
import { checkViewings, describeWithBrowser, launchBrowser, viewings, withPage } from './browser';
import { checkPage, noFaults } from '../support/browser/page-gate';

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

describeWithBrowser('public pages in a real browser', () => {
  let browser: Browser;
  let site: TestApp;

  beforeAll(async () => {
    [browser, site] = await Promise.all([launchBrowser(), startPublicSite()]);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test.each(paths)('%s is accessible, obeys the policy and fits', async (path) => {
    expect(await checkViewings(browser, site.url + path)).toEqual(noFaults);
  });

  // The drawings of Swagger UI are not ours to make accessible; the reference beside it says the same and is.
  test('a request can be tried under the policy, and nothing leaves this host', async () => {
    await withPage(browser, viewings[1], async (page) => {
      const foreign: string[] = [];
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== 'data:' && origin !== site.url) foreign.push(request.url());
      });
      const faults = await checkPage(page, `${site.url}/api-docs/try`, async () => {
        await page.click('#operations-Service-health .opblock-summary-control');
        await page.click('#operations-Service-health .try-out__btn');
        await page.click('#operations-Service-health .execute');
        await page.waitForSelector(
          '#operations-Service-health .live-responses-table .response-col_status:text("200")',
        );
      });
      expect({ ...faults, accessibility: [] }).toEqual(noFaults);
      expect(foreign).toEqual([]);
    });
  });
});
