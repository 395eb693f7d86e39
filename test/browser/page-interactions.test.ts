import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describeWithBrowser, launchBrowser, openContext } from './browser';
import { type DevelopmentSite, startPages } from './pages';

describeWithBrowser('Page interactions of app.js', () => {
  let browser: Browser;
  let server: DevelopmentSite;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    [browser, server] = await Promise.all([launchBrowser(), startPages()]);
    context = await openContext(browser, { theme: 'light', width: 1280 });
    context.setDefaultTimeout(10_000);
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    await context.addCookies([{ name: 'svc_development', value: server.token, url: server.url }]);
    await page.goto(`${server.url}/dev/components`);
    await page.waitForSelector('[data-theme-switch]:not([hidden])');
  });
  afterEach(async () => {
    await page.evaluate('localStorage.clear(), sessionStorage.clear()');
    await context.clearCookies();
  });

  const focusedElement = (): Promise<string> =>
    page.evaluate<string>('document.activeElement.dataset.dialogOpen ?? document.activeElement.id');

  test('dialog opens by keyboard, Escape closes it, and focus returns to its opener', async () => {
    const opener = page.locator('[data-dialog-open=revoke]');
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#revoke[open]');
    expect(await page.evaluate("document.querySelector('#revoke').contains(document.activeElement)")).toBe(
      true,
    );
    await page.keyboard.press('Escape');
    await page.waitForSelector('#revoke:not([open])', { state: 'attached' });
    expect(await focusedElement()).toBe('revoke');
  });

  test('Cancel closes a dialog without sending it', async () => {
    await page.click('[data-dialog-open=revoke]');
    await page.click('#revoke [data-dialog-close]');
    await page.waitForSelector('#revoke:not([open])', { state: 'attached' });
    expect(page.url()).toBe(`${server.url}/dev/components`);
  });

  test('irreversible action requires the confirmation phrase', async () => {
    await page.click('[data-dialog-open=delete]');
    const phrase = page.locator('#delete-phrase');
    const isValid = (): Promise<boolean> =>
      phrase.evaluate((input) => (input as unknown as { checkValidity(): boolean }).checkValidity());
    await phrase.fill('delete acme');
    expect(await isValid()).toBe(false);
    await phrase.fill('delete acme-labs');
    expect(await isValid()).toBe(true);
  });

  test('Ctrl+K opens the jump box, and the name of a page leads to it', async () => {
    await page.keyboard.press('Control+k');
    await page.waitForSelector('#jump[open]');
    expect(await focusedElement()).toBe('jump-input');
    await page.keyboard.type('billing');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dev/components#money-field');
  });

  test('slash focuses the filter, but is an ordinary letter in a field', async () => {
    await page.keyboard.press('/');
    expect(await focusedElement()).toBe('filter-text');
    await page.keyboard.press('/');
    expect(await page.inputValue('#filter-text')).toBe('/');
  });

  test('arrow keys move between snippet tabs', async () => {
    await page.focus('#gallery-curl-tab');
    await page.keyboard.press('ArrowRight');
    expect(await focusedElement()).toBe('gallery-python-tab');
    expect(await page.isVisible('#gallery-python')).toBe(true);
    expect(await page.isVisible('#gallery-curl')).toBe(false);
    await page.keyboard.press('End');
    expect(await focusedElement()).toBe('gallery-codex-tab');
    await page.keyboard.press('ArrowRight');
    expect(await focusedElement()).toBe('gallery-curl-tab');
  });

  test('copy button copies the complete value and confirms it', async () => {
    await page.click('#secret-once .button-primary');
    await page.waitForSelector('#announcer:text-is("Copied")', { state: 'attached' });
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^svc_EXAMPLE/);
  });

  test('new key can be saved as a file', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-download]')]);
    expect(download.suggestedFilename()).toBe('svc.env');
    const text = await readFile(await download.path(), 'utf8');
    expect(text).toMatch(/^SVC_API_KEY=svc_EXAMPLE\w+\n$/);
  });

  test('theme is applied and remembered', async () => {
    await page.click('[data-theme-choice=dark]');
    expect(await page.getAttribute('html', 'data-theme')).toBe('dark');
    const cookies = await context.cookies();
    expect(cookies).toContainEqual(expect.objectContaining({ name: 'svc_theme', value: 'dark' }));
    expect(cookies).toContainEqual(
      expect.objectContaining({ name: 'svc_time_zone', value: 'Europe%2FBerlin' }),
    );
  });

  test('row opens its detail on the same page', async () => {
    const toggle = page.locator('[data-toggle-row=request-120451]');
    expect(await page.isVisible('#request-120451')).toBe(false);
    await toggle.focus();
    await page.keyboard.press('Enter');
    expect(await page.isVisible('#request-120451')).toBe(true);
    expect(await toggle.getAttribute('aria-expanded')).toBe('true');
  });

  test('chart can be read point by point by keyboard and by pointer', async () => {
    const scrub = page.locator('#chart .chart-scrub');
    await scrub.focus();
    await page.keyboard.press('Home');
    expect(await scrub.getAttribute('aria-valuetext')).toContain('1 Nov: claude-sonnet $2.60');
    await page.locator('#chart').scrollIntoViewIfNeeded();
    await scrub.hover({ position: { x: 5, y: 50 } });
    await page.locator('#chart .chart-plot').hover({ position: { x: 40, y: 50 } });
    expect(await page.textContent('#chart [data-chart-readout]')).toContain('2 Nov: claude-sonnet');
  });

  test('password can be shown and hidden', async () => {
    const type = (): Promise<string | null> => page.getAttribute('#password', 'type');
    await page.click('[data-reveal=password]');
    expect(await type()).toBe('text');
    await page.click('[data-reveal=password]');
    expect(await type()).toBe('password');
  });

  test('list is filtered while typing', async () => {
    await page.fill('#models-search', 'haiku');
    expect(await page.isVisible('text=claude-haiku')).toBe(true);
    expect(await page.isVisible('#checklist-picker >> text=gpt-large')).toBe(false);
  });
});

describeWithBrowser('Page without JavaScript', () => {
  let browser: Browser;
  let server: DevelopmentSite;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launchBrowser(), startPages()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('page without scripts shows no inactive controls, and its filter still works', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    try {
      const page = await context.newPage();
      await page.goto(`${server.url}/dev/components?token=${server.token}`);
      expect(await page.isVisible('[data-theme-switch]')).toBe(false);
      expect(await page.isVisible('.chart-scrub >> nth=0')).toBe(false);
      for (const inactiveControl of ['[role=tab]', '[data-copy]', '[data-dialog-open]', '[data-live-pause]'])
        expect([
          inactiveControl,
          await page.locator(inactiveControl).filter({ visible: true }).count(),
        ]).toEqual([inactiveControl, 0]);
      for (const panel of ['#gallery-curl', '#gallery-codex', '#new-key-snippets-codex']) {
        expect([panel, await page.isVisible(panel)]).toEqual([panel, true]);
        expect(await page.isVisible(`${panel} [data-tab-name]`)).toBe(true);
      }
      await page.fill('#filter-text', 'abc');
      await page.click('.filter-bar button');
      await page.waitForURL('**/dev/components?days=30&q=abc&model=claude-sonnet&status=');
    } finally {
      await context.close();
    }
  });
});
