import type { Browser } from 'playwright-core';
import { AdminHouse } from '../integration/admin/admin-house';
import { signIn } from '../support/people';
import { checkViewings, describeWithBrowser, giveCookie, launchBrowser, withPage } from './browser';
import { noFaults } from '../support/browser/page-gate';

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

describeWithBrowser('the pages of the catalogue', () => {
  let browser: Browser;
  let house: AdminHouse;

  beforeAll(async () => {
    [browser, house] = await Promise.all([
      launchBrowser(),
      AdminHouse.open({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const { admin } = house;
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
    await house?.close();
  });

  test('the list of models has no column to scroll to beside the navigation, 1024 px', async () => {
    await withPage(browser, { theme: 'light', width: 1024 }, async (page, context) => {
      await giveCookie(context, house.app.url, await signIn(house.app, house.admin.userId));
      await page.goto(`${house.app.url}/dashboard/models`);
      expect(await page.locator('tbody th', { hasText: model }).locator('.tight').innerText()).toBe(
        'acme · eu',
      );
      const over = await page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-scroll'))`,
      );
      expect(over).toBe(0);
    });
  });

  test.each(pages)('%s is accessible, obeys the policy and fits', async (path) => {
    const cookie = await signIn(house.app, house.admin.userId);
    expect(await checkViewings(browser, house.app.url + path, cookie)).toEqual(noFaults);
  });
});
