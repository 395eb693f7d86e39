import { ActivityLog, ActivityQuery } from '#product/audit';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const person = async (role: UserRole = 'user', organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return { userId, cookie: await signIn(app, userId) };
};
const addOrganisation = async (slug: string): Promise<number> => {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: `The ${slug}`, slug });
  await organisations.insert(organisation);
  return organisation.id;
};
const open = (path: string, cookie: string) =>
  ask(app.url, { path, headers: { cookie, accept: 'text/html' } });
const change = async (path: string, cookie: string, form: object = {}, accept = 'application/json') => {
  const answer = await ask(app.url, {
    method: 'POST',
    path,
    headers: { cookie, accept, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify(form),
  });
  const json = (answer.headers['content-type'] ?? '').startsWith('application/json')
    ? (JSON.parse(answer.body) as Record<string, unknown>)
    : {};
  return { ...answer, json };
};
const put = (label: string, concerns: object) =>
  app.database.transaction((tx) =>
    app.application.get(ActivityLog, { strict: false }).write(tx, {
      action: 'key.created',
      object: { type: 'key', id: label, label },
      concerns,
      actor: { kind: 'system', label: 'test' },
    }),
  );
const entriesOf = async (userId: number) =>
  (
    await app.application.get(ActivityQuery, { strict: false }).page({ kind: 'user', userId }, { limit: 20 })
  ).rows.map(({ action }) => action);

describe('the frame', () => {
  test('shows who is signed in, the pages there are, the current one marked, and a link to help', async () => {
    const { cookie } = await person();
    const { status, body } = await open('/dashboard/activity', cookie);
    expect(status).toBe(200);
    expect(body).toMatch(/<a href="\/dashboard\/activity" aria-current="page">/);
    expect(body).toContain('href="/dashboard/guide"');
    expect(body).not.toContain('toggle-admin-mode');
    expect(body).not.toContain('/dashboard/admin/');
  });

  test('speaks the language and shows the zone of the profile, whatever the cookie says', async () => {
    const { userId, cookie } = await person();
    await app.database.source
      .getRepository(UserAccount)
      .update(userId, { preferredLanguage: 'de', timeZone: 'Asia/Tokyo' });
    const { body } = await open(
      '/dashboard/activity',
      `${cookie}; svc_language=fr; svc_time_zone=Europe%2FParis`,
    );
    expect(body).toContain('<html lang="de"');
    expect(body).toContain('Asia/Tokyo');
  });

  test('a language that is chosen stays in the profile', async () => {
    const { userId, cookie } = await person();
    expect((await change('/set-language', cookie, { language: 'it' })).status).toBe(200);
    const found = await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId });
    expect(found.preferredLanguage).toBe('it');
  });

  test('without a session a page leads to the sign-in, and everything else is refused', async () => {
    const page = await ask(app.url, { path: '/dashboard/activity?days=7', headers: { accept: 'text/html' } });
    expect([page.status, page.headers.location]).toEqual([
      303,
      '/login?next=%2Fdashboard%2Factivity%3Fdays%3D7',
    ]);
    const data = await ask(app.url, { path: '/dashboard/activity/export' });
    expect([data.status, (JSON.parse(data.body) as { code: string }).code]).toEqual([
      401,
      'authentication_required',
    ]);
  });

  test.each(['suspended', 'archived'] as const)('a %s person is led to the notice', async (status) => {
    const { userId, cookie } = await person();
    await app.database.source.getRepository(UserAccount).update(userId, { status });
    const { headers } = await open('/dashboard/activity', cookie);
    expect(headers.location).toBe(`/account/${status}`);
  });

  test('old addresses lead to the chat', async () => {
    const { cookie } = await person();
    expect((await open('/dashboard/playground', cookie)).headers.location).toBe('/dashboard/webchat');
    expect((await open('/dashboard/playground/7', cookie)).headers.location).toBe('/dashboard/webchat/7');
  });
});

describe('the notice after a change', () => {
  test('is shown once; one that was not signed here is not shown', async () => {
    const { cookie } = await person('org_admin', await addOrganisation('notices'));
    const answer = await change('/dashboard/toggle-admin-mode', cookie, {}, 'text/html');
    expect([answer.status, answer.headers.location]).toEqual([303, '/dashboard']);
    const notice = String([answer.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
    expect(notice).toMatch(/^svc_notice=/);
    const shown = await open('/dashboard/activity', `${cookie}; ${notice}`);
    expect(shown.body).toContain('You now see what administrators see.');
    expect(String(shown.headers['set-cookie'])).toContain('svc_notice=; Path=/');
    const forged = await open('/dashboard/activity', `${cookie}; ${notice.slice(0, -3)}AAA`);
    expect(forged.body).not.toContain('You now see what administrators see.');
    expect((await open('/dashboard/activity', `${cookie}; svc_notice=x`)).status).toBe(200);
  });
});

describe('the administration’s view', () => {
  const sees = async (cookie: string) => {
    const { body } = await ask(app.url, {
      path: '/dashboard/activity/export?type=key',
      headers: { cookie },
    });
    return [...body.matchAll(/,(entry of [\w ]+),/g)].map(([, label]) => label).sort();
  };
  let mine: number;
  let other: number;

  beforeAll(async () => {
    [mine, other] = [await addOrganisation('mine'), await addOrganisation('other')];
    await put('entry of mine', { organisationId: mine });
    await put('entry of other', { organisationId: other });
  });

  test('is for administrators', async () => {
    const { cookie } = await person('user', mine);
    const { status, json } = await change('/dashboard/toggle-admin-mode', cookie);
    expect([status, json.code]).toEqual([403, 'permission_denied']);
  });

  test('opens what the role may see, says so on every page, is on record and closes again', async () => {
    const { userId, cookie } = await person('org_admin', mine);
    expect(await sees(cookie)).toEqual([]);
    expect((await change('/dashboard/toggle-admin-mode', cookie)).json).toEqual({
      ok: true,
      admin_mode: true,
    });
    expect(await sees(cookie)).toEqual(['entry of mine']);
    const { body } = await open('/dashboard/activity', cookie);
    expect(body).toMatch(/class="admin-strip"[^]*The mine/);
    expect(body).not.toContain('name="org_id"');
    const again = await change('/dashboard/toggle-admin-mode', cookie, { admin_mode: 'on' });
    expect(again.json).toEqual({ ok: true, admin_mode: true });
    expect((await change('/dashboard/toggle-admin-mode', cookie)).json.admin_mode).toBe(false);
    expect(await sees(cookie)).toEqual([]);
    expect(await entriesOf(userId)).toEqual(['admin-mode.left', 'admin-mode.entered']);
  });

  test('ends with the session, and when the role changes', async () => {
    const { userId, cookie } = await person('org_owner', mine);
    await change('/dashboard/toggle-admin-mode', cookie);
    expect(await sees(await signIn(app, userId))).toEqual([]);
    await app.database.source.getRepository(UserAccount).update(userId, { role: 'org_admin' });
    expect(await sees(cookie)).toEqual([]);
  });

  test.each(['/dashboard/set-admin-org', '/dashboard/set-admin-domain'])('%s narrows', async (path) => {
    const { cookie } = await person('platform_admin');
    await change('/dashboard/toggle-admin-mode', cookie);
    expect(await sees(cookie)).toEqual(['entry of mine', 'entry of other']);
    expect((await change(path, cookie, { org_id: mine })).json).toMatchObject({ ok: true, org_id: mine });
    expect(await sees(cookie)).toEqual(['entry of mine']);
    expect((await change(path, cookie, { domain: 'other' })).json).toMatchObject({ org_id: other });
    expect(await sees(cookie)).toEqual(['entry of other']);
    const { body } = await open('/dashboard/activity', cookie);
    expect(body).toMatch(new RegExp(`<option value="${other}" selected>`));
    expect((await change(path, cookie, { org_id: 999_999_999 })).json.code).toBe('not_found');
    expect((await change(path, cookie, { domain: 'absent' })).json.code).toBe('not_found');
    expect((await change(path, cookie, { org_id: "1' OR true" })).json.code).toBe('validation_error');
    expect(await sees(cookie)).toEqual(['entry of other']);
    expect((await change(path, cookie, { org_id: '' })).json.org_id).toBeNull();
    expect(await sees(cookie)).toEqual(['entry of mine', 'entry of other']);
  });

  test.each(['user', 'department_admin', 'org_admin', 'org_owner'] as const)(
    '%s may not choose an organisation, not even their own',
    async (role) => {
      const { userId, cookie } = await person(role, mine);
      for (const path of ['/dashboard/set-admin-org', '/dashboard/set-admin-domain']) {
        for (const form of [{ org_id: other }, { org_id: mine }, { domain: 'other' }]) {
          expect((await change(path, cookie, form)).json.code).toBe('permission_denied');
        }
      }
      // Even a row that somebody tampered with only narrows.
      await app.database.query(
        'UPDATE session SET admin_role = $2, admin_organisation_id = $3 WHERE user_id = $1',
        [userId, role, other],
      );
      expect(await sees(cookie)).not.toContain('entry of other');
    },
  );
});

describe('the jump box', () => {
  test('leads to the one match, and lists several', async () => {
    const { userId, cookie } = await person();
    await addKey(app, userId);
    const key = await open('/dashboard/jump?q=test', cookie);
    expect([key.status, key.headers.location]).toEqual([
      302,
      expect.stringMatching(/^\/dashboard\/keys\/\w+$/),
    ]);
    expect((await open('/dashboard/jump?q=Activity', cookie)).headers.location).toBe('/dashboard/activity');
    const id = '0198f0c0-0000-7000-8000-000000000001';
    expect((await open(`/dashboard/jump?q=${id}`, cookie)).headers.location).toBe(
      `/dashboard/request-log?request_id=${id}`,
    );
    await addKey(app, userId);
    const several = await open('/dashboard/jump?q=test', cookie);
    expect(several.status).toBe(200);
    expect(several.body.match(/href="\/dashboard\/keys\/\w+"/g)).toHaveLength(2);
    const none = await open('/dashboard/jump?q=%3Cscript%3E', cookie);
    expect(none.body).toContain('Nothing found');
    expect(none.body).not.toContain('<script>');
  });

  test('finds no keys of others', async () => {
    const { cookie } = await person();
    await addKey(app, await addUser(app));
    expect((await open('/dashboard/jump?q=test', cookie)).body).toContain('Nothing found');
  });
});
