import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app';
import { builtExtension, type ExtensionFolder } from '../support/extension-folder';
import { addUser, signIn } from '../support/people';
import { noFaults } from '../support/browser/page-gate';
import { checkViewings, describeWithBrowser, giveCookie, launchBrowser } from './browser';

/* "`hx-post` with `hx-trigger="load"` gets past CSP: one link opened by the owner promoted a user". */
const FOREIGN = `
<div class="foreign" hx-post="/set-language" hx-trigger="load"></div>
<div class="foreign" data-host-mark="" hx-post="/set-language" hx-trigger="load"></div>
<div hx-boost="true"><a class="foreign" href="/dashboard">x</a></div>
`;

describeWithBrowser('pages of an extension', () => {
  let browser: Browser;
  let desk: ExtensionFolder;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    desk = builtExtension('test/fixtures/extensions/desk');
    appendFileSync(join(desk.path, 'views', 'notes.hbs'), FOREIGN);
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({ environment: { EXTENSIONS: desk.path, LOG_LEVEL: 'error' } }),
    ]);
    session = await signIn(app, await addUser(app, 'platform_owner'));
  });

  afterAll(async () => {
    await browser.close();
    await app.close();
    desk.remove();
  });

  test('acts on no markup of htmx that lacks the mark of the host', async () => {
    const context = await browser.newContext();
    await giveCookie(context, app.url, session);
    const page = await context.newPage();
    const posted: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && posted.push(request.url())));
    await page.goto(`${app.url}/x/desk`);
    // htmx leaves this attribute on each element that it acts on, before it triggers anything.
    const powered = (selector: string): Promise<number> =>
      page.locator(`${selector}[data-htmx-powered]`).count();
    expect(await powered('.foreign')).toBe(0);
    expect(await page.locator('.foreign').count()).toBe(3);
    expect(posted).toEqual([]);
    await page.goto(`${app.url}/dashboard/admin`);
    expect(await powered('#traffic')).toBe(1);
    await context.close();
  });

  test('a form works without scripts, and says what is wrong', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await giveCookie(context, app.url, session);
    const page = await context.newPage();
    await page.goto(`${app.url}/x/desk`);
    const add = async (title: string): Promise<void> => {
      await page.getByLabel('Title').fill(title);
      await page.getByRole('button', { name: 'Add note' }).click();
    };
    await add('A note');
    expect(await page.getByText('The note A note is kept.').count()).toBe(1);
    expect(await page.getByRole('rowheader', { name: 'A note' }).count()).toBe(1);
    await add('A note');
    expect(await page.getByLabel('Title').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByText('There is a note named A note already.').count()).toBe(1);
    await context.close();
  });

  test.each(['/x/desk', '/x/desk/office', '/x/desk/absent', '/dashboard/admin/extensions'])(
    '%s has no faults in both themes, wide and narrow',
    async (path) => {
      expect(await checkViewings(browser, app.url + path, session)).toEqual(noFaults);
    },
  );
});
