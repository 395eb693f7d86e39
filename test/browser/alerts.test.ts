import type { Browser } from 'playwright-core';
import { noIssues } from '../support/browser/page-gate';
import type { Person } from '../integration/admin/portal-fixture';
import { AlertFixture, ALERTS_PATH } from '../integration/alerts/alert-fixture';
import { checkPageInAllViewings, describeWithBrowser, launchBrowser } from './browser';

describeWithBrowser('Alert pages', () => {
  let browser: Browser;
  let fixture: AlertFixture;
  let platform: Person;
  let owner: Person;
  let alert: string;

  beforeAll(async () => {
    [browser, fixture] = await Promise.all([launchBrowser(), AlertFixture.open()]);
    platform = await fixture.portal.person('platform_owner');
    owner = await fixture.portal.person('org_owner');
    for (const kind of ['webhook', 'slack', 'pagerduty']) await fixture.createChannel(platform, kind);
    fixture.receivers.override = (path) => (path === 'slack' ? { status: 404, body: 'no_service' } : null);
    await fixture.reportDisk(0.04);
    await fixture.poll();
    alert = (await fixture.alerts('disk-low'))[0]!.id;
  });

  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  });

  test('alert pages are accessible, comply with the CSP and fit the screen', async () => {
    const visits = [
      ...['', `/${alert}`, '/rules', '/channels', '?state=all&severity=urgent'].map(
        (path) => [platform, path] as const,
      ),
      ...['', '/rules', '/channels'].map((path) => [owner, path] as const),
    ];
    const problems = [];
    for (const [person, path] of visits) {
      const pageFaults = await checkPageInAllViewings(
        browser,
        `${fixture.portal.app.url}${ALERTS_PATH}${path}`,
        person.cookie,
      );
      if (JSON.stringify(pageFaults) !== JSON.stringify(noIssues)) problems.push({ path, found: pageFaults });
    }
    expect(problems).toEqual([]);
  }, 120_000);
});
