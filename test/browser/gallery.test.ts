import type { Browser } from 'playwright-core';
import { checkPageInAllViewings, describeWithBrowser, launchBrowser, withPage } from './browser';
import { checkPage, noIssues } from '../support/browser/page-gate';
import { startPages, type DevelopmentSite } from './pages';

const paths = ['/', '/dev/components?', '/dev/outbox?', '/absent', '/dev/outbox?id=~&'];

const withToken = (path: string, { token }: DevelopmentSite): string =>
  path.includes('?') ? `${path}token=${token}` : path;

describeWithBrowser('Pages in a browser', () => {
  let browser: Browser;
  let server: DevelopmentSite;

  beforeAll(async () => {
    [browser, server] = await Promise.all([launchBrowser(), startPages()]);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test.each(paths)('%s is accessible, complies with the CSP and fits the screen', async (path) => {
    expect(await checkPageInAllViewings(browser, server.url + withToken(path, server))).toEqual(noIssues);
  });

  test('open dialog is accessible', async () => {
    const pageFaults = await withPage(browser, { theme: 'dark', width: 360 }, (page) =>
      checkPage(page, `${server.url}/dev/components?token=${server.token}`, async () => {
        await page.click('[data-dialog-open=delete]');
      }),
    );
    expect(pageFaults).toEqual(noIssues);
  });
});

describeWithBrowser('Page check', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  test('page check detects each kind of fault', async () => {
    const html = `<!doctype html><html><head>
      <meta http-equiv="Content-Security-Policy" content="style-src 'self'; script-src 'self'"></head>
      <body><div data-theme-switch>x</div><img src="data:,"><p style="color:red">styled</p>
      <table width="3000"><tr><td>wide</td></tr></table></body></html>`;
    const pageFaults = await withPage(browser, { theme: 'light', width: 360 }, async (page) => {
      await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: html }));
      return checkPage(page, 'http://127.0.0.1/', async () => {
        await page.evaluate(
          "setTimeout(() => { throw new Error('late') }); new Promise((done) => setTimeout(done, 50))",
        );
      });
    });
    expect(pageFaults.accessibility).toContainEqual(expect.stringContaining('image-alt'));
    expect(pageFaults.policy).not.toEqual([]);
    expect(pageFaults.console).toContainEqual(expect.stringContaining('late'));
    expect(pageFaults.overflow).toContainEqual(expect.stringContaining('<table'));
  });
});
