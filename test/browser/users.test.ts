import type { Browser } from 'playwright-core';
import { PortalFixture, type Person } from '../integration/admin/portal-fixture';
import { checkPageInAllViewings, describeWithBrowser, launchBrowser } from './browser';
import { noIssues } from '../support/browser/page-gate';

const admin = '/dashboard/admin';

describeWithBrowser('User administration', () => {
  let browser: Browser;
  let fixture: PortalFixture;
  let platform: Person;
  let paths: readonly string[];

  beforeAll(async () => {
    [browser, fixture] = await Promise.all([launchBrowser(), PortalFixture.open()]);
    platform = await fixture.person('platform_admin');
    const createdPerson = await fixture.person('org_admin');
    await fixture.post(createdPerson, `${admin}/users/invite`, { email: 'new@example.com', role: 'user' });
    await fixture.post(createdPerson, `${admin}/departments`, { name: 'Research', monthly_budget: 5 });
    const project = await fixture.post(createdPerson, `${admin}/projects`, {
      name: 'Moon',
      monthly_budget: 7,
    });
    await fixture.post(platform, `${admin}/promotions`, {
      name: 'Hello',
      scope: 'user',
      user_id: createdPerson.id,
      amount: 5,
    });
    const merge = `${admin}/organisations/merge`;
    paths = [
      `${admin}/users`,
      `${admin}/users/${createdPerson.id}`,
      `${admin}/users/${createdPerson.id}?tab=audit`,
      `${admin}/users/invite`,
      `${admin}/users/invites`,
      `${admin}/organisations`,
      `${admin}/organisations/${fixture.ownOrganisation}`,
      merge,
      `${merge}?target_org_id=${fixture.otherOrganisation}&source_org_ids=${fixture.ownOrganisation}`,
      `${admin}/departments`,
      `${admin}/projects`,
      `${admin}/projects/${String(project.body['id'])}`,
      `${admin}/promotions`,
    ];
  });

  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  });

  test('user pages are accessible, comply with the CSP and fit the screen', async () => {
    const problems = [];
    for (const path of paths) {
      const pageFaults = await checkPageInAllViewings(browser, fixture.app.url + path, platform.cookie);
      problems.push(
        JSON.stringify(pageFaults) === JSON.stringify(noIssues) ? path : { path, found: pageFaults },
      );
    }
    expect(problems).toEqual(paths);
  }, 120_000);
});
