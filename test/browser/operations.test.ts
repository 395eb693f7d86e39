import type { Browser } from 'playwright-core';
import { ActivityLog } from '#product/audit';
import { CatalogueEditor } from '#product/catalogue';
import { startTestApp, type TestApp } from '../support/app';
import { addUser, signIn } from '../support/users';
import {
  checkPageInAllViewings,
  describeWithBrowser,
  setCookie,
  launchBrowser,
  openContext,
} from './browser';
import { noIssues } from '../support/browser/page-gate';
import { until } from '../support/until';

describeWithBrowser('Operations and audit log', () => {
  let browser: Browser;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const userId = await addUser(app, 'platform_owner');
    session = await signIn(app, userId);
    await app.database.transaction((tx) =>
      app.application.get(ActivityLog, { strict: false }).write(tx, {
        action: 'organisation.changed',
        object: { type: 'organisation', id: 7, label: 'A rather long name of an organisation, number seven' },
        changes: { name: ['before', 'after'], allowed_regions: [null, ['eu', 'us']], slug: ['old', null] },
        reason: 'asked by letter',
        actor: {
          kind: 'user',
          userId,
          role: 'platform_owner',
          organisationId: 3,
          departmentId: null,
          label: 'Ada Lovelace (ada.lovelace@example.com)',
        },
      }),
    );
    await app.database.transaction((tx) =>
      new CatalogueEditor().upsertProvider(tx, {
        name: 'sandbox',
        style: 'openai-style',
        baseUrl: 'https://sandbox.example',
      }),
    );
    await app.database.query(
      `INSERT INTO incident (kind, provider, model, region, cause, status, started_at, last_seen_at, ended_at)
       VALUES ('lane', 'north', 'big-model-2026-01-01', 'eu-central-1', 'backend_error', 503, now() - interval '2 h', now(), NULL),
              ('errors', '', 'wobbly', '', '25 % of 40', NULL, now() - interval '9 h', now(), now() - interval '8 h')`,
    );
    await app.database.query(
      `INSERT INTO request_record (request_id, created_at, surface, model, served_model, supplier, usage_source,
         cost_nano, status, code, stream, failover, latency_ms, calls)
       SELECT gen_random_uuid(), now() - hour * interval '1 h', 'chat', 'big', 'big', 'sandbox', 'reported', 123456,
              CASE WHEN hour % 4 = 0 THEN 502 ELSE 200 END, CASE WHEN hour % 4 = 0 THEN 'backend_error' END,
              false, hour % 3 = 0, 100 * hour, 1
         FROM generate_series(0, 23) AS hour, generate_series(0, hour) AS times`,
    );
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  test.each(['/dashboard', '/dashboard/admin', '/dashboard/admin/audit', '/dashboard/qualitative/settings'])(
    '%s is accessible, complies with the CSP and fits the screen',
    async (path) => {
      const pageFaults = await checkPageInAllViewings(browser, app.url + path, session, async (page) => {
        if (path.endsWith('audit')) await page.click('[data-toggle-row] >> nth=0');
      });
      expect(pageFaults).toEqual(noIssues);
    },
  );

  test('operations page refreshes every 15 seconds until it is paused', async () => {
    // An installed clock cannot be removed, so the test uses its own page.
    const context = await openContext(browser, { theme: 'light', width: 1280 });
    try {
      await setCookie(context, app.url, session);
      const page = await context.newPage();
      await page.clock.install();
      await page.goto(`${app.url}/dashboard/admin`);
      await page.waitForSelector('[data-live-pause]:not([hidden])');
      const readTimestamp = () => page.getAttribute('#traffic > .scope time', 'datetime');
      const timestampBefore = await readTimestamp();
      const refreshResponse = page.waitForResponse((response) =>
        response.url().includes('/dashboard/admin?hours=24'),
      );
      await page.clock.runFor(15_100);
      await refreshResponse;
      await until(async () => (await readTimestamp()) !== timestampBefore);
      await page.click('[data-live-pause]');
      let requestCount = 0;
      page.on('request', () => (requestCount += 1));
      await page.clock.runFor(60_000);
      expect(requestCount).toBe(0);
      expect(await page.getAttribute('[data-live-pause]', 'aria-pressed')).toBe('true');
    } finally {
      await context.close();
    }
  });
});
