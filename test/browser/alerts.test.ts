import type { Browser } from 'playwright-core';
import { noFaults } from '../support/browser/page-gate';
import type { Person } from '../integration/admin/house';
import { AlertHouse, PATH } from '../integration/alerts/alert-house';
import { checkViewings, describeWithBrowser, launchBrowser } from './browser';

describeWithBrowser('alerts', () => {
  let browser: Browser;
  let house: AlertHouse;
  let platform: Person;
  let owner: Person;
  let alert: string;

  beforeAll(async () => {
    [browser, house] = await Promise.all([launchBrowser(), AlertHouse.open()]);
    platform = await house.house.person('platform_owner');
    owner = await house.house.person('org_owner');
    for (const kind of ['webhook', 'slack', 'pagerduty']) await house.channel(platform, kind);
    house.receivers.trouble = (path) => (path === 'slack' ? { status: 404, body: 'no_service' } : null);
    await house.disk(0.04);
    await house.pass();
    alert = (await house.alerts('disk-low'))[0]!.id;
  });

  afterAll(async () => {
    await browser?.close();
    await house?.close();
  });

  test('pages are accessible, obey the policy and fit', async () => {
    const visits = [
      ...['', `/${alert}`, '/rules', '/channels', '?state=all&severity=urgent'].map(
        (path) => [platform, path] as const,
      ),
      ...['', '/rules', '/channels'].map((path) => [owner, path] as const),
    ];
    const faults = [];
    for (const [person, path] of visits) {
      const found = await checkViewings(browser, `${house.house.app.url}${PATH}${path}`, person.cookie);
      if (JSON.stringify(found) !== JSON.stringify(noFaults)) faults.push({ path, found });
    }
    expect(faults).toEqual([]);
  }, 120_000);
});
