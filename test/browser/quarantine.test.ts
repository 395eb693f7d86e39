import type { Browser } from 'playwright-core';
import { Quarantine } from '#product/quarantine';
import { RestoredHouse } from '../integration/boot/restored-house';
import type { TestApp } from '../support/app';
import { noFaults } from '../support/browser/page-gate';
import { signIn } from '../support/people';
import { checkViewings, describeWithBrowser, giveCookie, launchBrowser } from './browser';

const PATH = '/dashboard/admin/quarantine';

describeWithBrowser('the page of a restored installation', () => {
  let browser: Browser;
  let house: RestoredHouse;
  let app: TestApp;
  let session: string;

  beforeAll(async () => {
    [browser, house] = await Promise.all([launchBrowser(), RestoredHouse.open()]);
    house.markRestored();
    app = await house.start();
    session = await signIn(app, house.owner);
    await app.application.get(Quarantine).collectFindings();
  });

  afterAll(async () => {
    await browser.close();
    await house.close();
  });

  test('visitors see that it is closed, and its owner everything, in both themes, wide and narrow', async () => {
    const context = await browser.newContext();
    const visitor = await context.newPage();
    expect((await visitor.goto(app.url))?.status()).toBe(503);
    await context.close();
    expect(await checkViewings(browser, app.url + PATH, session)).toEqual(noFaults);
  });

  test('it is released without scripts, and says what is missing', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await giveCookie(context, app.url, session);
    const page = await context.newPage();
    await page.goto(`${app.url}/dashboard`);
    const choose = async (label: string, choice: string): Promise<void> =>
      void (await page.getByRole('combobox', { name: label }).selectOption({ label: choice }));
    await choose('Keys', 'Keep all');
    await choose('Charges after the moment', 'Charge them');
    await choose('Payments since then', 'Take them in now');
    await choose('Mails waiting', 'Drop them');
    await page.getByRole('button', { name: 'Release the installation' }).click();
    expect(new URL(page.url()).pathname).toBe('/dashboard/admin');
    expect(await page.getByText('The installation was released and serves again.').count()).toBe(1);
    await context.close();
  });
});
