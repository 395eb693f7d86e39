import type { Browser, BrowserContext } from 'playwright-core';
import { AdminHouse } from '../integration/admin/admin-fixture';
import { checkPage, noIssues } from '../support/browser/page-gate';
import { signIn } from '../support/users';
import {
  checkPageInAllViewings,
  describeWithBrowser,
  setCookie,
  launchBrowser,
  viewings,
  withPage,
} from './browser';

const YAML = `version: 1
providers: { acme: { style: openai-style, base_url: 'https://acme.example/v1', settings: { anonymous: true } } }
models:
  small: { lanes: [{ provider: acme, model: small-1, region: eu }], price: { input: 2, output: 4 } }
  a-new-model-with-a-name-as-long-as-they-are: { lanes: [{ provider: acme, model: m, region: eu }], price: { input: 1, output: 2 } }
`;

describeWithBrowser('Catalogue import, access, reseller domains and model order', () => {
  let browser: Browser;
  let fixture: AdminHouse;
  let organisationId: number;
  let draft: string;

  beforeAll(async () => {
    [browser, fixture] = await Promise.all([
      launchBrowser(),
      AdminHouse.open({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const { admin } = fixture;
    organisationId = await fixture.organisation('acme');
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
    const importResponse = await admin.post('/dashboard/admin/models/import', {
      format: 'gateway-yaml',
      content: YAML,
    });
    draft = String(importResponse.json['draft_id']);
    await admin.post(`/dashboard/admin/organisations/${organisationId}/domains`, {
      host: 'models.reseller.example',
      name: 'Reseller Models',
      accent: '#7a1f3d',
      accent_dark: '#ff9db8',
    });
  });
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  });

  const session = (): Promise<string> => signIn(fixture.app, fixture.admin.userId);
  const setSession = async (context: BrowserContext): Promise<void> =>
    setCookie(context, fixture.app.url, await session());

  test.each([
    ['import', () => '/dashboard/admin/models/import'],
    ['plan', () => `/dashboard/admin/models/import/${draft}`],
    ['access', () => `/dashboard/admin/models/access?org_id=${organisationId}`],
    ['domains', () => `/dashboard/admin/organisations/${organisationId}/domains`],
    ['models', () => '/dashboard/admin/models'],
  ])('catalogue page %s is accessible, complies with the CSP and fits the screen', async (_title, path) => {
    const faults = await checkPageInAllViewings(browser, fixture.app.url + path(), await session());
    expect(faults).toEqual(noIssues);
  });

  test('row dragged onto another takes its position permanently', async () => {
    const names = async (): Promise<string[]> => {
      const rows = await fixture.app.database.query<{ name: string }>(
        'SELECT name FROM model ORDER BY display_order, name COLLATE "C"',
      );
      return rows.map(({ name }) => name);
    };
    const namesBefore = await names();
    await withPage(browser, viewings[0], async (page, context) => {
      await setSession(context);
      await page.goto(`${fixture.app.url}/dashboard/admin/models`);
      const [stored] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/models/reorder')),
        page.dragAndDrop(
          `[data-reorder="${namesBefore.at(-1)}"] th`,
          `[data-reorder="${namesBefore[0]}"] th`,
          {
            targetPosition: { x: 5, y: 2 },
          },
        ),
      ]);
      expect(stored.status()).toBe(200);
    });
    expect(await names()).toEqual([namesBefore.at(-1), ...namesBefore.slice(0, -1)]);
  });

  describe.each(viewings)('Drawer, $theme theme, $width px', (viewing) => {
    test('model is edited next to its list; a rejected form stays and a saved one returns to the list', async () => {
      await withPage(browser, viewing, async (page, context) => {
        await setSession(context);
        const list = `${fixture.app.url}/dashboard/admin/models?q=medium`;
        const drawer = page.locator('#drawer[open]');
        const openDrawer = async () => {
          await page.locator('a[data-drawer]', { hasText: 'medium' }).click();
          await drawer.locator('h1', { hasText: 'medium' }).waitFor();
        };
        expect(await checkPage(page, list, openDrawer)).toEqual(noIssues);
        await page.keyboard.press('Escape');
        expect(await page.evaluate('document.activeElement?.textContent')).toBe('medium');
        await openDrawer();
        const form = drawer.locator('form[action$="/models/update"]');
        const tokens = form.locator('[name=context_tokens]');
        await tokens.fill('0');
        await form.locator('[name=display_name]').fill(`Medium ${viewing.theme} ${viewing.width}`);
        await form.locator('button').last().click();
        // The browser rejects the value; without its validation the service does.
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
      const [row] = await fixture.app.database.query<object>(
        `SELECT display_name, context_tokens FROM model WHERE name = 'medium'`,
      );
      expect(row).toEqual({ display_name: `Medium ${viewing.theme} ${viewing.width}`, context_tokens: 4096 });
    });
  });

  test('edit form is a separate page without scripts', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await setSession(context);
    const page = await context.newPage();
    await page.goto(`${fixture.app.url}/dashboard/admin/models`);
    await page.locator('a[data-drawer]', { hasText: 'medium' }).click();
    expect(page.url()).toContain('/dashboard/admin/models/edit?model=medium');
    expect(await page.locator('form[action$="/models/update"]').count()).toBe(1);
    await context.close();
  });
});
