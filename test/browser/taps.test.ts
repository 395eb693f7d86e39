import type { Browser } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app';
import { noIssues } from '../support/browser/page-gate';
import { addUser, signIn } from '../support/users';
import { VendorStandIn } from '../support/sinks/stand-in';
import { datadogVendor, otlpVendor } from '../support/sinks/vendors';
import { until } from '../support/until';
import { freeRecord, settle, tapRow } from '../integration/extensions/tap-fixture';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser } from './browser';

const PATH = '/dashboard/admin/extensions/taps';
const KEY = '0123456789abcdef0123456789abcdef';

describeWithBrowser('Taps page', () => {
  let browser: Browser;
  let app: TestApp;
  let session: string;
  let otlp: VendorStandIn;
  let datadog: VendorStandIn;

  beforeAll(async () => {
    [browser, otlp, datadog] = await Promise.all([
      launchBrowser(),
      VendorStandIn.open(otlpVendor, KEY),
      VendorStandIn.open(datadogVendor, KEY),
    ]);
    app = await startTestApp({
      environment: {
        SINKS: `collector=otlp:${otlp.url},logs=datadog:${datadog.url}`,
        SINK_SECRETS: `collector=authorization: Bearer ${KEY}\nlogs=${KEY.replaceAll('0', 'f')}`,
      },
    });
    session = await signIn(app, await addUser(app, 'platform_owner'));
  });

  afterAll(async () => {
    await browser.close();
    await app.close();
    await Promise.all([otlp.close(), datadog.close()]);
  });

  test('tap pages show settlement, a test response and a dead letter with its reason without scripts', async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 1280, height: 1400 },
    });
    await setCookie(context, app.url, session);
    const page = await context.newPage();
    const sendTest = async (): Promise<void> => {
      await page.goto(`${app.url}${PATH}?tap=otlp/collector`);
      await page.locator('summary', { hasText: 'Send the newest record as a test' }).click();
      await page.getByRole('button', { name: 'Send the newest record as a test' }).click();
    };
    await sendTest();
    expect(await page.getByText('No request was settled yet').count()).toBe(1);
    const records = Array.from({ length: 3 }, () => freeRecord(1));
    otlp.poison.add(records[1]!.requestId);
    await settle(app, records);
    await until(() => otlp.stored.length === 2);
    await until(async () => (await tapRow(app, 'datadog/logs')).failures > 0);
    await sendTest();
    expect(await page.getByText('The receiver answered: 200').count()).toBe(1);
    await page.goto(`${app.url}${PATH}?tap=otlp/collector`);
    expect(
      await page.getByText('it answered with status 400: one record is malformed').count(),
    ).toBeGreaterThan(0);
    await page.goto(`${app.url}${PATH}?tap=datadog/logs`);
    expect(await page.getByText(/The API key \[redacted\] is invalid/).count()).toBeGreaterThan(0);
    await context.close();
  });

  test.each([PATH, `${PATH}?tap=otlp/collector`, `${PATH}?tap=datadog/logs`])(
    'tap page %s has no faults in both themes at both widths',
    async (path) => {
      expect(await checkPageInAllViewings(browser, app.url + path, session)).toEqual(noIssues);
    },
  );
});
