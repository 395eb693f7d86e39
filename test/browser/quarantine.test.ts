import type { Browser } from 'playwright-core';
import { Quarantine } from '#product/quarantine';
import { RestoredFixture } from '../integration/boot/restored-fixture';
import type { TestApp } from '../support/app';
import { noIssues } from '../support/browser/page-gate';
import { signIn } from '../support/users';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser } from './browser';

const PATH = '/dashboard/admin/quarantine';

describeWithBrowser('Quarantine page of a restored installation', () => {
  let browser: Browser;
  let fixture: RestoredFixture;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    [browser, fixture] = await Promise.all([launchBrowser(), RestoredFixture.open()]);
    fixture.markRestored();
    app = await fixture.start();
    session = await signIn(app, fixture.owner);
    await app.application.get(Quarantine).collectFindings();
  });

  afterAll(async () => {
    await browser.close();
    await fixture.close();
  });

  test('visitors see a closed service and its owner sees every page, in both themes at both widths', async () => {
    const context = await browser.newContext();
    const visitor = await context.newPage();
    expect((await visitor.goto(app.url))?.status()).toBe(503);
    await context.close();
    expect(await checkPageInAllViewings(browser, app.url + PATH, session)).toEqual(noIssues);
  });

  test('quarantine is released without scripts and shows missing steps', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await setCookie(context, app.url, session);
    const page = await context.newPage();
    await page.goto(`${app.url}/dashboard`);
    const chooseOption = async (label: string, choice: string): Promise<void> =>
      void (await page.getByRole('combobox', { name: label }).selectOption({ label: choice }));
    await chooseOption('Keys', 'Keep all');
    await chooseOption('Charges after the moment', 'Charge them');
    await chooseOption('Payments since then', 'Take them in now');
    await chooseOption('Mails waiting', 'Drop them');
    await page.getByRole('button', { name: 'Release the installation' }).click();
    expect(new URL(page.url()).pathname).toBe('/dashboard/admin');
    expect(await page.getByText('The installation was released and serves again.').count()).toBe(1);
    await context.close();
  });
});
