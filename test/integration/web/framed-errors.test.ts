import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { administer } from '../../support/postgres';
import { ask } from './raw-exchange';

let app: TestApp;
let cookie: string;
let others: number;

beforeAll(async () => {
  app = await startTestApp();
  cookie = await signIn(app, await addUser(app));
  others = (await addKey(app, await addUser(app))).id;
});
afterAll(() => app.close());

const open = (path: string, session = cookie) =>
  ask(app.url, { method: 'GET', path, headers: { cookie: session, accept: 'text/html' } });
const send = (path: string, body: string, headers: Record<string, string> = {}) =>
  ask(app.url, {
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

/** Navigation, code, request and the way back; never the bar of the public pages. */
function expectFramed(body: string, code: string, back: string | null): void {
  expect(body).toContain('class="shell"');
  expect(body).toContain('href="/dashboard/keys"');
  expect(body).not.toContain('public-bar');
  expect(body).toContain(`<code>${code}</code>`);
  expect(body).toMatch(/<dt>Request<\/dt><dd><span class="copyable"><code>[0-9a-f-]{36}</);
  const [, href = null] =
    /<a class="button" href="([^"]*)"><svg[^>]*><use href="[^"]*#arrow-left"/.exec(body) ?? [];
  expect(href).toBe(back);
}

const unmarked = (body: string, path: string): string =>
  body.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '').replaceAll(path, '');

describe('an error of a signed-in person stays in the frame', () => {
  test('403 of a page that the role does not open', async () => {
    const { status, body } = await open('/dashboard/admin/users');
    expect(status).toBe(403);
    expectFramed(body, 'permission_denied', '/dashboard');
    expect(body).not.toContain('href="/dashboard/admin');
  });

  test('404 says the same of what is another’s, what never was, and an address without a page', async () => {
    const paths = [`/dashboard/keys/${others}`, '/dashboard/keys/99999999', '/dashboard/keys/1/none'];
    const answers = await Promise.all(paths.map((path) => open(path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    for (const { body } of answers) expectFramed(body, 'not_found', '/dashboard/keys');
    const [first, second] = answers.map(({ body }, at) => unmarked(body, paths[at]!));
    expect(first).toBe(second);
  });

  test('422 of a form without a page of its own, and 403 of one that came from elsewhere', async () => {
    const invalid = await send('/dashboard/keys/new', 'name=');
    expect(invalid.status).toBe(422);
    expectFramed(invalid.body, 'invalid_request', '/dashboard/keys');
    const foreign = await send('/dashboard/keys/new', 'name=x', { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
    expectFramed(foreign.body, 'csrf_rejected', '/dashboard/keys');
  });

  test('a resource that fails, without asking the service for more', async () => {
    const owner = (statement: string) =>
      administer(app.environment['MIGRATION_DATABASE_URL'] ?? '', statement);
    await owner('ALTER TABLE conversation RENAME TO conversation_gone');
    try {
      const { status, body } = await open('/dashboard/webchat');
      expect(status).toBe(500);
      expectFramed(body, 'internal_error', '/dashboard');
      expect(body).not.toContain('conversation_gone');
    } finally {
      await owner('ALTER TABLE conversation_gone RENAME TO conversation');
    }
  });
});

describe('others see an error on a public page', () => {
  test.each(['', 'svc_session=expired'])('nobody is signed in with “%s”', async (session) => {
    const { status, body } = await open('/dashboard/nowhere', session);
    expect(status).toBe(404);
    expect(body).toContain('public-bar');
    expect(body).not.toContain('class="shell"');
  });

  test('an account that is suspended', async () => {
    const userId = await addUser(app);
    const session = await signIn(app, userId);
    await app.database.query(`UPDATE user_account SET status = 'suspended' WHERE id = $1`, [userId]);
    const { body } = await open('/dashboard/nowhere', session);
    expect(body).not.toContain('class="shell"');
  });
});
