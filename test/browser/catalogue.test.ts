import type { Browser } from 'playwright-core';
import { AdminHouse } from '../integration/admin/admin-fixture';
import { signIn } from '../support/users';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser, withPage } from './browser';
import { noIssues } from '../support/browser/page-gate';

const model = 'acme/a-model-with-a-name-as-long-as-they-are';
const pages = [
  '/dashboard/admin/models',
  '/dashboard/admin/models?tab=providers',
  '/dashboard/admin/models?tab=prices',
  '/dashboard/admin/models?tab=aliases',
  `/dashboard/admin/models/edit?model=${encodeURIComponent(model)}`,
  '/dashboard/admin/models/new',
  '/dashboard/admin/providers/edit?id=1',
];

describeWithBrowser('Catalogue pages', () => {
  let browser: Browser;
  let fixture: AdminHouse;

  beforeAll(async () => {
    [browser, fixture] = await Promise.all([
      launchBrowser(),
      AdminHouse.open({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const { admin } = fixture;
    await admin.post('/dashboard/admin/providers', {
      name: 'acme',
      style: 'openai-style',
      base_url: 'https://acme.example/v1',
      secret: 'sk-secret-0123456789',
    });
    await admin.post('/dashboard/admin/models/create', {
      model,
      kind: 'chat',
      owned_by: 'acme',
      input_price: '1.5',
      output_price: '3',
      reasoning_price: '4',
      lanes: [{ provider: 'acme', upstream_model: 'm', region: 'eu' }],
    });
    await admin.post('/dashboard/admin/models/add-alias', { model, alias: 'short' });
  });
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  });

  test('model list does not scroll sideways next to the navigation at 1024 px', async () => {
    await withPage(browser, { theme: 'light', width: 1024 }, async (page, context) => {
      await setCookie(context, fixture.app.url, await signIn(fixture.app, fixture.admin.userId));
      await page.goto(`${fixture.app.url}/dashboard/models`);
      expect(await page.locator('tbody th', { hasText: model }).locator('.tight').innerText()).toBe(
        'acme · eu',
      );
      const overflow = await page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-scroll'))`,
      );
      expect(overflow).toBe(0);
    });
  });

  test.each(pages)('%s is accessible, complies with the CSP and fits the screen', async (path) => {
    const cookie = await signIn(fixture.app, fixture.admin.userId);
    expect(await checkPageInAllViewings(browser, fixture.app.url + path, cookie)).toEqual(noIssues);
  });
});
