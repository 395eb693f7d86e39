import type { Browser } from 'playwright-core';
import { checkViewings, describeWithBrowser, launchBrowser, withPage } from './browser';
import { checkPage, noFaults } from '../support/browser/page-gate';
import { startPages, type Pages } from './pages';

const paths = ['/', '/dev/components?', '/dev/outbox?', '/absent', '/dev/outbox?id=~&'];

const withToken = (path: string, { token }: Pages): string =>
  path.includes('?') ? `${path}token=${token}` : path;

describeWithBrowser('pages in a real browser', () => {
  let browser: Browser;
  let server: Pages;

  beforeAll(async () => {
    [browser, server] = await Promise.all([launchBrowser(), startPages()]);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test.each(paths)('%s is accessible, obeys the policy and fits', async (path) => {
    expect(await checkViewings(browser, server.url + withToken(path, server))).toEqual(noFaults);
  });

  test('an open dialog is accessible too', async () => {
    const faults = await withPage(browser, { theme: 'dark', width: 360 }, (page) =>
      checkPage(page, `${server.url}/dev/components?token=${server.token}`, async () => {
        await page.click('[data-dialog-open=delete]');
      }),
    );
    expect(faults).toEqual(noFaults);
  });
});

describeWithBrowser('the gate itself', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  test('sees each kind of fault', async () => {
    const html = `<!doctype html><html><head>
      <meta http-equiv="Content-Security-Policy" content="style-src 'self'; script-src 'self'"></head>
      <body><div data-theme-switch>x</div><img src="data:,"><p style="color:red">styled</p>
      <table width="3000"><tr><td>wide</td></tr></table></body></html>`;
    const faults = await withPage(browser, { theme: 'light', width: 360 }, async (page) => {
      await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: html }));
      return checkPage(page, 'http://127.0.0.1/', async () => {
        await page.evaluate(
          "setTimeout(() => { throw new Error('late') }); new Promise((done) => setTimeout(done, 50))",
        );
      });
    });
    expect(faults.accessibility).toContainEqual(expect.stringContaining('image-alt'));
    expect(faults.policy).not.toEqual([]);
    expect(faults.console).toContainEqual(expect.stringContaining('late'));
    expect(faults.overflow).toContainEqual(expect.stringContaining('<table'));
  });
});
