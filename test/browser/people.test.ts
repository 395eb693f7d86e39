import type { Browser } from 'playwright-core';
import { House, type Person } from '../integration/admin/house';
import { checkViewings, describeWithBrowser, launchBrowser } from './browser';
import { noFaults } from '../support/browser/page-gate';

const admin = '/dashboard/admin';

describeWithBrowser('the administration of people', () => {
  let browser: Browser;
  let house: House;
  let platform: Person;
  let paths: readonly string[];

  beforeAll(async () => {
    [browser, house] = await Promise.all([launchBrowser(), House.open()]);
    platform = await house.person('platform_admin');
    const person = await house.person('org_admin');
    await house.post(person, `${admin}/users/invite`, { email: 'new@example.com', role: 'user' });
    await house.post(person, `${admin}/departments`, { name: 'Research', monthly_budget: 5 });
    const project = await house.post(person, `${admin}/projects`, { name: 'Moon', monthly_budget: 7 });
    await house.post(platform, `${admin}/promotions`, {
      name: 'Hello',
      scope: 'user',
      user_id: person.id,
      amount: 5,
    });
    const merge = `${admin}/organisations/merge`;
    paths = [
      `${admin}/users`,
      `${admin}/users/${person.id}`,
      `${admin}/users/${person.id}?tab=audit`,
      `${admin}/users/invite`,
      `${admin}/users/invites`,
      `${admin}/organisations`,
      `${admin}/organisations/${house.ours}`,
      merge,
      `${merge}?target_org_id=${house.theirs}&source_org_ids=${house.ours}`,
      `${admin}/departments`,
      `${admin}/projects`,
      `${admin}/projects/${String(project.body['id'])}`,
      `${admin}/promotions`,
    ];
  });

  afterAll(async () => {
    await browser?.close();
    await house?.close();
  });

  test('pages are accessible, obey the policy and fit', async () => {
    const faults = [];
    for (const path of paths) {
      const found = await checkViewings(browser, house.app.url + path, platform.cookie);
      faults.push(JSON.stringify(found) === JSON.stringify(noFaults) ? path : { path, found });
    }
    expect(faults).toEqual(paths);
  }, 120_000);
});
