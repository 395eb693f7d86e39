import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app';
import { buildExtension, type ExtensionFolder } from '../support/extension-folder';
import { addUser, signIn } from '../support/users';
import { noIssues } from '../support/browser/page-gate';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser } from './browser';

/* "`hx-post` with `hx-trigger="load"` gets past CSP: one link opened by the owner promoted a user". */
const FOREIGN = `
<div class="foreign" hx-post="/set-language" hx-trigger="load"></div>
<div class="foreign" data-host-mark="" hx-post="/set-language" hx-trigger="load"></div>
<div hx-boost="true"><a class="foreign" href="/dashboard">x</a></div>
`;

describeWithBrowser('Extension pages', () => {
  let browser: Browser;
  let extensionFolder: ExtensionFolder;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    extensionFolder = buildExtension('test/fixtures/extensions/desk');
    appendFileSync(join(extensionFolder.path, 'views', 'notes.hbs'), FOREIGN);
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({ environment: { EXTENSIONS: extensionFolder.path, LOG_LEVEL: 'error' } }),
    ]);
    session = await signIn(app, await addUser(app, 'platform_owner'));
  });

  afterAll(async () => {
    await browser.close();
    await app.close();
    extensionFolder.remove();
  });

  test('htmx ignores markup without the marker of the host', async () => {
    const context = await browser.newContext();
    await setCookie(context, app.url, session);
    const page = await context.newPage();
    const postedRequests: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && postedRequests.push(request.url())));
    await page.goto(`${app.url}/x/desk`);
    // htmx sets this attribute on each element that it processes, before it triggers a request.
    const processedCount = (selector: string): Promise<number> =>
      page.locator(`${selector}[data-htmx-powered]`).count();
    expect(await processedCount('.foreign')).toBe(0);
    expect(await page.locator('.foreign').count()).toBe(3);
    expect(postedRequests).toEqual([]);
    await page.goto(`${app.url}/dashboard/admin`);
    expect(await processedCount('#traffic')).toBe(1);
    await context.close();
  });

  test('form works without scripts and displays errors', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await setCookie(context, app.url, session);
    const page = await context.newPage();
    await page.goto(`${app.url}/x/desk`);
    const addEntry = async (title: string): Promise<void> => {
      await page.getByLabel('Title').fill(title);
      await page.getByRole('button', { name: 'Add note' }).click();
    };
    await addEntry('A note');
    expect(await page.getByText('The note A note is kept.').count()).toBe(1);
    expect(await page.getByRole('rowheader', { name: 'A note' }).count()).toBe(1);
    await addEntry('A note');
    expect(await page.getByLabel('Title').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByText('There is a note named A note already.').count()).toBe(1);
    await context.close();
  });

  test.each(['/x/desk', '/x/desk/office', '/x/desk/absent', '/dashboard/admin/extensions'])(
    'extension page %s has no faults in both themes at both widths',
    async (path) => {
      expect(await checkPageInAllViewings(browser, app.url + path, session)).toEqual(noIssues);
    },
  );
});
