import type { Browser, BrowserContext } from 'playwright-core';
import { insertRequestRecords, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../proofs/money/record';
import { startTestApp, type TestApp } from '../support/app';
import { addCustomer } from '../support/customer';
import { signIn } from '../support/users';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser, withPage } from './browser';
import { noIssues } from '../support/browser/page-gate';

const models = ['claude-sonnet-4-5-with-a-long-name', 'gpt-large', 'mistral-medium'];
const HOUR_MS = 3_600_000;

describeWithBrowser('Usage and request log', () => {
  let browser: Browser;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } }),
    ]);
    const { userId, keyId } = await addCustomer(app, 'ada');
    session = await signIn(app, userId);
    await app.database.query(
      "SELECT ensure_request_record_partitions((now() - interval '2 months')::date, 4)",
    );
    const attempt = {
      supplier: 'azure',
      region: 'eu-west-1',
      model: 'm',
      status: 429,
      milliseconds: 210,
      outcome: 'limited',
    };
    const records = Array.from({ length: 400 }, (_, place) =>
      serialiseRecord(uuidv7(), Date.now() - place * HOUR_MS * 1.7, {
        ...ordinaryOutcome({
          keyId,
          userId,
          organisationId: null,
          departmentId: null,
          projectId: null,
          walletId: null,
          costNano: 0n,
        }),
        model: models[place % 3] ?? null,
        supplier: 'bedrock',
        region: 'eu-central-1',
        inputTokens: 1_000 + ((place * 7_919) % 9_000),
        outputTokens: 300 + ((place * 104_729) % 900),
        latencyMs: 400 + ((place * 31) % 2_000),
        endUser: place % 4 === 0 ? 'grace' : null,
        tags: place % 6 === 0 ? ['night', 'batch'] : null,
        ...(place % 9 === 0
          ? {
              failover: true,
              attempts: [attempt, { ...attempt, supplier: 'bedrock', status: 200, outcome: 'answered' }],
            }
          : {}),
        ...(place % 31 === 6 ? { status: 503, code: 'unsupported_autorouter_algorithm' } : {}),
        ...(place % 31 === 7 ? { status: 502, code: 'upstream_error' } : {}),
      }),
    );
    await app.database.transaction(async (tx) => void (await insertRequestRecords(tx, records)));
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  const setSession = (context: BrowserContext): Promise<void> => setCookie(context, app.url, session);

  test.each([
    '/dashboard/usage?measure=requests&group_by=model',
    '/dashboard/usage?measure=latency&group_by=tag&days=7',
    '/dashboard/usage?model=absent',
    '/dashboard/request-log?columns=tags,end_user',
    '/dashboard/request-log?model=absent',
  ])('%s is accessible, complies with the CSP and fits the screen', async (path) => {
    const pageFaults = await checkPageInAllViewings(browser, app.url + path, session, async (page) => {
      const opener = page.locator('[data-toggle-row]').first();
      if ((await opener.count()) > 0) await opener.click();
    });
    expect(pageFaults).toEqual(noIssues);
  });

  test.each([
    { path: '/dashboard/request-log', width: 1280 },
    { path: '/dashboard/request-log', width: 1024 },
    { path: '/dashboard/keys', width: 1024 },
  ])('$path does not scroll sideways next to the navigation at $width px', async ({ path, width }) => {
    await withPage(browser, { theme: 'light', width }, async (page, context) => {
      await setSession(context);
      await page.goto(app.url + path);
      expect(
        await page.evaluate<number>(
          `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-scroll'))`,
        ),
      ).toBe(0);
      if (!path.endsWith('log')) return;
      const codes = await page.locator('.badge', { hasText: '_' }).allTextContents();
      expect(codes).toContain('unsupported_autorouter_algorithm');
    });
  });

  test('live log shows a new request, but not while it is paused', async () => {
    await withPage(browser, { theme: 'light', width: 1280 }, async (page, context) => {
      await setSession(context);
      await page.goto(`${app.url}/dashboard/request-log?live=on`);
      const pollRequest = page.waitForRequest(
        (request) => request.url().includes('live=on') && request.method() === 'GET',
      );
      await pollRequest;
      await page.waitForResponse((response) => response.url().includes('live=on'));
      await page.waitForSelector('#request-log table');
      expect(await page.locator('#request-log').count()).toBe(1);
      await page.click('[data-live-pause]');
      expect(await page.getAttribute('[data-live-pause]', 'aria-pressed')).toBe('true');
      expect(await page.locator('#request-log[data-paused]').count()).toBe(1);
    });
  });
});
