import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { administer } from '../../support/postgres';
import { sendRaw } from './raw-exchange';

let app: TestApp;
let cookie: string;
let otherKeyId: number;

beforeAll(async () => {
  app = await startTestApp();
  cookie = await signIn(app, await addUser(app));
  otherKeyId = (await addKey(app, await addUser(app))).id;
});
afterAll(() => app.close());

const getPage = (path: string, session = cookie) =>
  sendRaw(app.url, { method: 'GET', path, headers: { cookie: session, accept: 'text/html' } });
const send = (path: string, body: string, headers: Record<string, string> = {}) =>
  sendRaw(app.url, {
    method: 'POST',
    path,
    headers: {
      cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
    body,
  });

/** Expects the dashboard navigation, error code, request id and back link, without the public header. */
function expectDashboardError(body: string, code: string, back: string | null): void {
  expect(body).toContain('class="shell"');
  expect(body).toContain('href="/dashboard/keys"');
  expect(body).not.toContain('public-bar');
  expect(body).toContain(`<code>${code}</code>`);
  expect(body).toMatch(/<dt>Request<\/dt><dd><span class="copyable"><code>[0-9a-f-]{36}</);
  const [, href = null] =
    /<a class="button" href="([^"]*)"><svg[^>]*><use href="[^"]*#arrow-left"/.exec(body) ?? [];
  expect(href).toBe(back);
}

const withoutRequestId = (body: string, path: string): string =>
  body.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '').replaceAll(path, '');

describe('Errors of a signed-in user', () => {
  test('show 403 inside the dashboard for a page outside the role', async () => {
    const { status, body } = await getPage('/dashboard/admin/users');
    expect(status).toBe(403);
    expectDashboardError(body, 'permission_denied', '/dashboard');
    expect(body).not.toContain('href="/dashboard/admin');
  });

  test("show the same 404 for another user's object, an unknown object and an unknown path", async () => {
    const paths = [`/dashboard/keys/${otherKeyId}`, '/dashboard/keys/99999999', '/dashboard/keys/1/none'];
    const responses = await Promise.all(paths.map((path) => getPage(path)));
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404]);
    for (const { body } of responses) expectDashboardError(body, 'not_found', '/dashboard/keys');
    const [first, second] = responses.map(({ body }, at) => withoutRequestId(body, paths[at]!));
    expect(first).toBe(second);
  });

  test('show 422 for a form without its own page, and 403 for a cross-site form', async () => {
    const invalid = await send('/dashboard/keys/new', 'name=');
    expect(invalid.status).toBe(422);
    expectDashboardError(invalid.body, 'invalid_request', '/dashboard/keys');
    const crossSiteResponse = await send('/dashboard/keys/new', 'name=x', { 'sec-fetch-site': 'cross-site' });
    expect(crossSiteResponse.status).toBe(403);
    expectDashboardError(crossSiteResponse.body, 'csrf_rejected', '/dashboard/keys');
  });

  test('show a failed page as 500 inside the dashboard without further database access', async () => {
    const owner = (statement: string) =>
      administer(app.environment['MIGRATION_DATABASE_URL'] ?? '', statement);
    await owner('ALTER TABLE conversation RENAME TO conversation_gone');
    try {
      const { status, body } = await getPage('/dashboard/webchat');
      expect(status).toBe(500);
      expectDashboardError(body, 'internal_error', '/dashboard');
      expect(body).not.toContain('conversation_gone');
    } finally {
      await owner('ALTER TABLE conversation_gone RENAME TO conversation');
    }
  });
});

describe('Errors without a valid session', () => {
  test.each(['', 'svc_session=expired'])('use the public page for a visitor with “%s”', async (session) => {
    const { status, body } = await getPage('/dashboard/nowhere', session);
    expect(status).toBe(404);
    expect(body).toContain('public-bar');
    expect(body).not.toContain('class="shell"');
  });

  test('use the public page for a suspended account', async () => {
    const userId = await addUser(app);
    const session = await signIn(app, userId);
    await app.database.query(`UPDATE user_account SET status = 'suspended' WHERE id = $1`, [userId]);
    const { body } = await getPage('/dashboard/nowhere', session);
    expect(body).not.toContain('class="shell"');
  });
});
