import type { Browser, BrowserContext } from 'playwright-core';
import { AdminHouse } from '../integration/admin/admin-house';
import { checkPage, noFaults } from '../support/browser/page-gate';
import { signIn } from '../support/people';
import { checkViewings, describeWithBrowser, giveCookie, launchBrowser, viewings, withPage } from './browser';

const YAML = `version: 1
providers: { acme: { style: openai-style, base_url: 'https://acme.example/v1', settings: { anonymous: true } } }
models:
  small: { lanes: [{ provider: acme, model: small-1, region: eu }], price: { input: 2, output: 4 } }
  a-new-model-with-a-name-as-long-as-they-are: { lanes: [{ provider: acme, model: m, region: eu }], price: { input: 1, output: 2 } }
`;

describeWithBrowser('import, access, reseller domains and the order of models', () => {
  let browser: Browser;
  let house: AdminHouse;
  let organisationId: number;
  let draft: string;

  beforeAll(async () => {
    [browser, house] = await Promise.all([
      launchBrowser(),
      AdminHouse.open({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const { admin } = house;
    organisationId = await house.organisation('acme');
    await admin.post('/dashboard/admin/providers', {
      name: 'acme',
      style: 'openai-style',
      base_url: 'https://acme.example/v1',
    });
    for (const model of ['small', 'medium', 'large'])
      await admin.post('/dashboard/admin/models/create', {
        model,
        kind: 'chat',
        owned_by: 'acme',
        input_price: '1.5',
        output_price: '3',
        lanes: [{ provider: 'acme', upstream_model: `${model}-1`, region: 'eu' }],
      });
    const brought = await admin.post('/dashboard/admin/models/import', {
      format: 'gateway-yaml',
      content: YAML,
    });
    draft = String(brought.json['draft_id']);
    await admin.post(`/dashboard/admin/organisations/${organisationId}/domains`, {
      host: 'models.reseller.example',
      name: 'Reseller Models',
      accent: '#7a1f3d',
      accent_dark: '#ff9db8',
    });
  });
  afterAll(async () => {
    await browser?.close();
    await house?.close();
  });

  const session = (): Promise<string> => signIn(house.app, house.admin.userId);
  const enter = async (context: BrowserContext): Promise<void> =>
    giveCookie(context, house.app.url, await session());

  test.each([
    ['import', () => '/dashboard/admin/models/import'],
    ['plan', () => `/dashboard/admin/models/import/${draft}`],
    ['access', () => `/dashboard/admin/models/access?org_id=${organisationId}`],
    ['domains', () => `/dashboard/admin/organisations/${organisationId}/domains`],
    ['models', () => '/dashboard/admin/models'],
  ])('%s is accessible, obeys the policy and fits', async (_title, path) => {
    const faults = await checkViewings(browser, house.app.url + path(), await session());
    expect(faults).toEqual(noFaults);
  });

  test('a row that is dragged onto another takes its place, and stays there', async () => {
    const names = async (): Promise<string[]> => {
      const rows = await house.app.database.query<{ name: string }>(
        'SELECT name FROM model ORDER BY display_order, name COLLATE "C"',
      );
      return rows.map(({ name }) => name);
    };
    const before = await names();
    await withPage(browser, viewings[0], async (page, context) => {
      await enter(context);
      await page.goto(`${house.app.url}/dashboard/admin/models`);
      const [stored] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/models/reorder')),
        page.dragAndDrop(`[data-reorder="${before.at(-1)}"] th`, `[data-reorder="${before[0]}"] th`, {
          targetPosition: { x: 5, y: 2 },
        }),
      ]);
      expect(stored.status()).toBe(200);
    });
    expect(await names()).toEqual([before.at(-1), ...before.slice(0, -1)]);
  });

  describe.each(viewings)('the drawer, $theme, $width px', (viewing) => {
    test('a model is edited beside its list; what is refused stays, and what is saved leads back', async () => {
      await withPage(browser, viewing, async (page, context) => {
        await enter(context);
        const list = `${house.app.url}/dashboard/admin/models?q=medium`;
        const drawer = page.locator('#drawer[open]');
        const open = async () => {
          await page.locator('a[data-drawer]', { hasText: 'medium' }).click();
          await drawer.locator('h1', { hasText: 'medium' }).waitFor();
        };
        expect(await checkPage(page, list, open)).toEqual(noFaults);
        await page.keyboard.press('Escape');
        expect(await page.evaluate('document.activeElement?.textContent')).toBe('medium');
        await open();
        const form = drawer.locator('form[action$="/models/update"]');
        const tokens = form.locator('[name=context_tokens]');
        await tokens.fill('0');
        await form.locator('[name=display_name]').fill(`Medium ${viewing.theme} ${viewing.width}`);
        await form.locator('button').last().click();
        // The browser refuses it by itself; one that checks nothing has it refused by the service.
        expect(await form.locator('#context-tokens:invalid').count()).toBe(1);
        await form.evaluate((element: { noValidate: boolean }) => (element.noValidate = true));
        await form.locator('button').last().click();
        await drawer.locator('[name=context_tokens][aria-invalid=true]').waitFor();
        expect(await tokens.inputValue()).toBe('0');
        expect(await page.evaluate(`document.activeElement?.getAttribute('name')`)).toBe('context_tokens');
        expect(page.url()).toBe(list);
        await tokens.fill('4096');
        await Promise.all([
          page.waitForURL(list, { waitUntil: 'load' }),
          form.locator('button').last().click(),
        ]);
        await page.locator('.banner-ok, .toast-ok').waitFor();
        expect(page.url()).toBe(list);
      });
      const [row] = await house.app.database.query<object>(
        `SELECT display_name, context_tokens FROM model WHERE name = 'medium'`,
      );
      expect(row).toEqual({ display_name: `Medium ${viewing.theme} ${viewing.width}`, context_tokens: 4096 });
    });
  });

  test('without scripts the same form is a page', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await enter(context);
    const page = await context.newPage();
    await page.goto(`${house.app.url}/dashboard/admin/models`);
    await page.locator('a[data-drawer]', { hasText: 'medium' }).click();
    expect(page.url()).toContain('/dashboard/admin/models/edit?model=medium');
    expect(await page.locator('form[action$="/models/update"]').count()).toBe(1);
    await context.close();
  });
});
