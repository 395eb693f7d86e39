import { ActivityLog, ActivityQuery } from '#product/audit';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const signInAs = async (role: UserRole = 'user', organisationId: number | null = null) => {
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
const getPage = (path: string, cookie: string) =>
  sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } });
const postForm = async (path: string, cookie: string, form: object = {}, accept = 'application/json') => {
  const answer = await sendRaw(app.url, {
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
const addEntry = (label: string, concerns: object) =>
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

describe('The dashboard frame', () => {
  test('shows the signed-in user, the pages with the current one marked, and a help link', async () => {
    const { cookie } = await signInAs();
    const { status, body } = await getPage('/dashboard/activity', cookie);
    expect(status).toBe(200);
    expect(body).toMatch(/<a href="\/dashboard\/activity" aria-current="page">/);
    expect(body).toContain('href="/dashboard/guide"');
    expect(body).not.toContain('toggle-admin-mode');
    expect(body).not.toContain('/dashboard/admin/');
  });

  test('uses the language and time zone of the profile instead of the cookie', async () => {
    const { userId, cookie } = await signInAs();
    await app.database.source
      .getRepository(UserAccount)
      .update(userId, { preferredLanguage: 'de', timeZone: 'Asia/Tokyo' });
    const { body } = await getPage(
      '/dashboard/activity',
      `${cookie}; svc_language=fr; svc_time_zone=Europe%2FParis`,
    );
    expect(body).toContain('<html lang="de"');
    expect(body).toContain('Asia/Tokyo');
  });

  test('stores a chosen language in the profile', async () => {
    const { userId, cookie } = await signInAs();
    expect((await postForm('/set-language', cookie, { language: 'it' })).status).toBe(200);
    const user = await app.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId });
    expect(user.preferredLanguage).toBe('it');
  });

  test('redirects page requests without a session to sign-in and refuses other requests', async () => {
    const page = await sendRaw(app.url, {
      path: '/dashboard/activity?days=7',
      headers: { accept: 'text/html' },
    });
    expect([page.status, page.headers.location]).toEqual([
      303,
      '/login?next=%2Fdashboard%2Factivity%3Fdays%3D7',
    ]);
    const data = await sendRaw(app.url, { path: '/dashboard/activity/export' });
    expect([data.status, (JSON.parse(data.body) as { code: string }).code]).toEqual([
      401,
      'authentication_required',
    ]);
  });

  test.each(['suspended', 'archived'] as const)(
    'redirects a %s user to the account notice',
    async (status) => {
      const { userId, cookie } = await signInAs();
      await app.database.source.getRepository(UserAccount).update(userId, { status });
      const { headers } = await getPage('/dashboard/activity', cookie);
      expect(headers.location).toBe(`/account/${status}`);
    },
  );

  test('redirects playground addresses to the chat', async () => {
    const { cookie } = await signInAs();
    expect((await getPage('/dashboard/playground', cookie)).headers.location).toBe('/dashboard/webchat');
    expect((await getPage('/dashboard/playground/7', cookie)).headers.location).toBe('/dashboard/webchat/7');
  });
});

describe('The notice after a change', () => {
  test('is shown once, and not shown with an invalid signature', async () => {
    const { cookie } = await signInAs('org_admin', await addOrganisation('notices'));
    const answer = await postForm('/dashboard/toggle-admin-mode', cookie, {}, 'text/html');
    expect([answer.status, answer.headers.location]).toEqual([303, '/dashboard']);
    const notice = String([answer.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
    expect(notice).toMatch(/^svc_notice=/);
    const noticePage = await getPage('/dashboard/activity', `${cookie}; ${notice}`);
    expect(noticePage.body).toContain('You now see what administrators see.');
    expect(String(noticePage.headers['set-cookie'])).toContain('svc_notice=; Path=/');
    const forgedPage = await getPage('/dashboard/activity', `${cookie}; ${notice.slice(0, -3)}AAA`);
    expect(forgedPage.body).not.toContain('You now see what administrators see.');
    expect((await getPage('/dashboard/activity', `${cookie}; svc_notice=x`)).status).toBe(200);
  });
});

describe('The admin view', () => {
  const visibleEntries = async (cookie: string) => {
    const { body } = await sendRaw(app.url, {
      path: '/dashboard/activity/export?type=key',
      headers: { cookie },
    });
    return [...body.matchAll(/,(entry of [\w ]+),/g)].map(([, label]) => label).sort();
  };
  let ownOrganisation: number;
  let otherOrganisation: number;

  beforeAll(async () => {
    [ownOrganisation, otherOrganisation] = [await addOrganisation('mine'), await addOrganisation('other')];
    await addEntry('entry of mine', { organisationId: ownOrganisation });
    await addEntry('entry of other', { organisationId: otherOrganisation });
  });

  test('is available to administrators only', async () => {
    const { cookie } = await signInAs('user', ownOrganisation);
    const { status, json } = await postForm('/dashboard/toggle-admin-mode', cookie);
    expect([status, json.code]).toEqual([403, 'permission_denied']);
  });

  test("shows the role's scope, is marked on every page, is logged and can be closed", async () => {
    const { userId, cookie } = await signInAs('org_admin', ownOrganisation);
    expect(await visibleEntries(cookie)).toEqual([]);
    expect((await postForm('/dashboard/toggle-admin-mode', cookie)).json).toEqual({
      ok: true,
      admin_mode: true,
    });
    expect(await visibleEntries(cookie)).toEqual(['entry of mine']);
    const { body } = await getPage('/dashboard/activity', cookie);
    expect(body).toMatch(/class="admin-strip"[^]*The mine/);
    expect(body).not.toContain('name="org_id"');
    const repeatedResponse = await postForm('/dashboard/toggle-admin-mode', cookie, { admin_mode: 'on' });
    expect(repeatedResponse.json).toEqual({ ok: true, admin_mode: true });
    expect((await postForm('/dashboard/toggle-admin-mode', cookie)).json.admin_mode).toBe(false);
    expect(await visibleEntries(cookie)).toEqual([]);
    expect(await entriesOf(userId)).toEqual(['admin-mode.left', 'admin-mode.entered']);
  });

  test('ends with the session and with a role change', async () => {
    const { userId, cookie } = await signInAs('org_owner', ownOrganisation);
    await postForm('/dashboard/toggle-admin-mode', cookie);
    expect(await visibleEntries(await signIn(app, userId))).toEqual([]);
    await app.database.source.getRepository(UserAccount).update(userId, { role: 'org_admin' });
    expect(await visibleEntries(cookie)).toEqual([]);
  });

  test.each(['/dashboard/set-admin-org', '/dashboard/set-admin-domain'])(
    '%s limits the view to one organisation',
    async (path) => {
      const { cookie } = await signInAs('platform_admin');
      await postForm('/dashboard/toggle-admin-mode', cookie);
      expect(await visibleEntries(cookie)).toEqual(['entry of mine', 'entry of other']);
      expect((await postForm(path, cookie, { org_id: ownOrganisation })).json).toMatchObject({
        ok: true,
        org_id: ownOrganisation,
      });
      expect(await visibleEntries(cookie)).toEqual(['entry of mine']);
      expect((await postForm(path, cookie, { domain: 'other' })).json).toMatchObject({
        org_id: otherOrganisation,
      });
      expect(await visibleEntries(cookie)).toEqual(['entry of other']);
      const { body } = await getPage('/dashboard/activity', cookie);
      expect(body).toMatch(new RegExp(`<option value="${otherOrganisation}" selected>`));
      expect((await postForm(path, cookie, { org_id: 999_999_999 })).json.code).toBe('not_found');
      expect((await postForm(path, cookie, { domain: 'absent' })).json.code).toBe('not_found');
      expect((await postForm(path, cookie, { org_id: "1' OR true" })).json.code).toBe('validation_error');
      expect(await visibleEntries(cookie)).toEqual(['entry of other']);
      expect((await postForm(path, cookie, { org_id: '' })).json.org_id).toBeNull();
      expect(await visibleEntries(cookie)).toEqual(['entry of mine', 'entry of other']);
    },
  );

  test.each(['user', 'department_admin', 'org_admin', 'org_owner'] as const)(
    '%s cannot select an organisation, including their own',
    async (role) => {
      const { userId, cookie } = await signInAs(role, ownOrganisation);
      for (const path of ['/dashboard/set-admin-org', '/dashboard/set-admin-domain']) {
        for (const form of [
          { org_id: otherOrganisation },
          { org_id: ownOrganisation },
          { domain: 'other' },
        ]) {
          expect((await postForm(path, cookie, form)).json.code).toBe('permission_denied');
        }
      }
      // A manipulated session row can only narrow the scope.
      await app.database.query(
        'UPDATE session SET admin_role = $2, admin_organisation_id = $3 WHERE user_id = $1',
        [userId, role, otherOrganisation],
      );
      expect(await visibleEntries(cookie)).not.toContain('entry of other');
    },
  );
});

describe('The jump box', () => {
  test('redirects to a single match and lists several', async () => {
    const { userId, cookie } = await signInAs();
    await addKey(app, userId);
    const key = await getPage('/dashboard/jump?q=test', cookie);
    expect([key.status, key.headers.location]).toEqual([
      302,
      expect.stringMatching(/^\/dashboard\/keys\/\w+$/),
    ]);
    expect((await getPage('/dashboard/jump?q=Activity', cookie)).headers.location).toBe(
      '/dashboard/activity',
    );
    const id = '0198f0c0-0000-7000-8000-000000000001';
    expect((await getPage(`/dashboard/jump?q=${id}`, cookie)).headers.location).toBe(
      `/dashboard/request-log?request_id=${id}`,
    );
    await addKey(app, userId);
    const severalMatches = await getPage('/dashboard/jump?q=test', cookie);
    expect(severalMatches.status).toBe(200);
    expect(severalMatches.body.match(/href="\/dashboard\/keys\/\w+"/g)).toHaveLength(2);
    const noMatches = await getPage('/dashboard/jump?q=%3Cscript%3E', cookie);
    expect(noMatches.body).toContain('Nothing found');
    expect(noMatches.body).not.toContain('<script>');
  });

  test('finds no keys of other users', async () => {
    const { cookie } = await signInAs();
    await addKey(app, await addUser(app));
    expect((await getPage('/dashboard/jump?q=test', cookie)).body).toContain('Nothing found');
  });
});
