import { executeCommand } from '#inside/commands/run-command';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import {
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registered,
  registration,
  startAccountHouse,
  tokenIn,
} from './account-house';
import { until } from '../../support/until';

/** Hosts that an organisation shows the portal under as its own. */
const base = 'portal.localhost';
const host = 'models.reseller.example';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let app: TestApp;
let admin: Browser;
let ours: number;
let theirs: number;

beforeAll(async () => {
  app = await startAccountHouse({
    environment: {
      BASE_URL: `http://${base}`,
      IDP1_ISSUER: 'https://id.example.com',
      IDP1_CLIENT_ID: 'switchboard',
      IDP1_CLIENT_SECRET: 'a secret of the tests that is long enough',
      IDP1_NAME: 'House directory',
    },
  });
  const cookie = await signIn(app, await addUser(app, 'platform_admin'));
  admin = new Browser(app.url, { host: base });
  const [name = '', value = ''] = cookie.split('=');
  admin.keep(name, value);
  const rows = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours'), ('Theirs', 'theirs') RETURNING id",
  );
  [ours = 0, theirs = 0] = rows.map(({ id }) => id);
});
afterAll(() => app.close());

const look = { host, name: 'Reseller Models', accent: '#7a1f3d', accent_dark: '#ff9db8' };
const set = (fields: object, organisation = ours) =>
  admin.post(`/dashboard/admin/organisations/${organisation}/domains`, fields);
const visitor = (name = host): Browser => new Browser(app.url, { host: name });

test('a host that nobody set answers 421; set, it shows the name, the logo and the accent of the reseller', async () => {
  expect((await visitor().page('/login')).status).toBe(421);
  expect((await set({ ...look, logo: `data:image/png;base64,${PNG.toString('base64')}` })).status).toBe(200);
  const page = await visitor().page('/login');
  expect(page.text).toContain('Reseller Models');
  expect(page.text).not.toContain('Switchboard');
  const shown = page.text.replaceAll('&#x3D;', '=');
  const sheet = /href="(\/portal\/look\.css\?v=\w+)"/.exec(shown)?.[1] ?? '';
  const css = await visitor().page(sheet);
  expect(css.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(css.text).toContain('--accent: light-dark(#7a1f3d, #ff9db8)');
  const logo = /src="(\/portal\/logo\?v=\w+)"/.exec(shown)?.[1] ?? '';
  expect((await visitor().page(logo)).headers.get('content-type')).toBe('image/png');
  const own = await visitor(base).page('/login');
  expect(own.text).toContain('Switchboard');
  expect(own.text).not.toContain('/portal/look.css');
  expect((await visitor(base).get('/portal/look.css')).status).toBe(404);
  for (const other of ['elsewhere.example', `sub.${host}`, `${host}:8443`, `${host}.`])
    expect([other, (await visitor(other).page('/login')).status]).toEqual([other, 421]);
});

test('examples and texts there name its address, and no other', async () => {
  for (const path of ['/', '/guide', '/api-docs']) {
    const { status, text } = await visitor().page(path);
    expect([path, status]).toEqual([path, 200]);
    expect(text).toContain(`http://${host}/v1`);
    expect(text).not.toContain(`http://${base}`);
  }
  expect((await visitor().page('/features')).text).not.toContain('Switchboard');
  expect((await visitor(base).page('/guide')).text).toContain(`http://${base}/v1`);
});

test('cookies are the host’s own, and a session is signed in and used there', async () => {
  const email = await registered(app);
  const browser = visitor();
  const answer = await browser.post('/auth/login', { email, password: 'kettle orbit mosaic thunder' });
  expect(answer.status).toBe(200);
  for (const line of answer.headers.getSetCookie()) expect(line).not.toMatch(/domain=/i);
  expect(browser.cookie('svc_session')).toBeDefined();
  const page = await browser.page('/dashboard/settings');
  expect([page.status, page.text.includes('Reseller Models')]).toEqual([200, true]);
  // A page of another host changes nothing here.
  const foreign = await browser.post('/dashboard/settings', {}, { origin: 'https://elsewhere.example' });
  expect(foreign.json()['code']).toBe('csrf_rejected');
});

const prove = (isProven: boolean) =>
  app.database.query(
    `UPDATE reseller_domain SET proven_at = CASE WHEN $2 THEN now() END, seen_at = CASE WHEN $2 THEN now() END
      WHERE host = $1`,
    [host, isProven],
  );

/** Somebody with an account, and where the link of each mail leads that a visitor of one host has asked for. */
const member = async (organisation: number | null, role = 'user'): Promise<string> => {
  const email = await registered(app);
  await app.database.query('UPDATE user_account SET organisation_id = $2, role = $3 WHERE email = $1', [
    email,
    organisation,
    role,
  ]);
  return email;
};
const resetLink = async (email: string, asked: string): Promise<string | undefined> => {
  expect((await visitor(asked).post('/auth/forgot-password', { email })).status).toBe(200);
  return /http:\S+(?=token=)/.exec((await mailTo(app, email, /password/i)).text)?.[0];
};

describe('links of mails lead to the own portal of the account, wherever they were asked for', () => {
  const there = `http://${host}/reset-password?`;
  const atBase = `http://${base}/reset-password?`;
  afterAll(() => prove(false));

  test.each([host, base])('asked at %s', async (asked) => {
    await prove(false);
    expect(await resetLink(await member(ours), asked)).toBe(atBase);
    await prove(true);
    expect(await resetLink(await member(ours), asked)).toBe(there);
    for (const [organisation, role] of [
      [theirs, 'user'],
      [null, 'user'],
      [ours, 'platform_admin'],
      [ours, 'platform_owner'],
      [theirs, 'org_owner'],
    ] as const)
      expect([role, await resetLink(await member(organisation, role), asked)]).toEqual([role, atBase]);
  });

  test('who registers belongs to no organisation yet, whichever host asks', async () => {
    await prove(true);
    const newcomer = newAddress();
    expect((await visitor().post('/auth/register', registration(newcomer))).status).toBe(200);
    const welcome = await mailTo(app, newcomer, /Confirm your email/);
    expect(welcome.text).toContain(`http://${base}/verify-email?token=`);
    expect(welcome.text).not.toContain(host);
    expect((await visitor().post('/auth/resend-verification', { email: newcomer })).status).toBe(200);
    expect((await mailTo(app, newcomer, /Confirm your email/)).text).not.toContain(host);
  });

  test.each([
    ['own', host],
    ['another', base],
  ])('a changed address of a member of the %s organisation', async (whose, expected) => {
    await prove(true);
    const email = await member(whose === 'own' ? ours : theirs);
    const browser = visitor();
    await browser.post('/auth/login', { email, password: goodPassword });
    const [next, form] = [newAddress(), { current_password: goodPassword }];
    expect((await browser.post('/dashboard/settings/email', { ...form, email: next })).status).toBe(200);
    const mail = await mailTo(app, next, /Confirm your new address/);
    expect(mail.text).toContain(`http://${expected}/account/email?token=`);
    expect((await visitor().post('/account/email', { token: tokenIn(mail) })).status).toBe(200);
    const told = await mailTo(app, email, /address.*changed|changed.*address/i);
    expect(told.text).toContain(`http://${expected}/account/email/undo?token=`);
  });

  test('an invitation leads to the portal of who is invited, not of who invites', async () => {
    await prove(true);
    for (const [email, expected] of [
      [newAddress(), base],
      [await member(theirs), base],
    ] as const) {
      const sent = await admin.post('/dashboard/admin/users/invite', { email, role: 'user', org_id: ours });
      expect(sent.status).toBe(200);
      expect((await mailTo(app, email, /invited/)).text).toContain(`http://${expected}/invite/`);
    }
  });
});

test('its people sign in through the provider: no password is asked for on the host', async () => {
  await app.database.query('UPDATE organisation SET sso_only = true WHERE id = $1', [ours]);
  await until(async () => !(await visitor().page('/login')).text.includes('type="password"'));
  expect((await visitor().page('/login')).text).toContain('House directory');
  expect((await visitor(base).page('/login')).text).toContain('type="password"');
});

test('what is no host, no colour, no logo, or another’s, is refused with its reason', async () => {
  const refused: [object, number, number, string][] = [
    [{ ...look, host: 'localhost' }, ours, 422, 'host'],
    [{ ...look, host: '127.0.0.1' }, ours, 422, 'host'],
    [{ ...look, host: 'https://x.example' }, ours, 422, 'host'],
    [{ ...look, host: 'x.example/path' }, ours, 422, 'host'],
    [{ ...look, host: 'user@x.example' }, ours, 422, 'host'],
    [{ ...look, host: base }, ours, 409, 'installation'],
    [look, theirs, 409, 'another organisation'],
    [{ ...look, accent: '#ffd0d0' }, ours, 422, 'contrast'],
    [{ ...look, accent_dark: '#402020' }, ours, 422, 'contrast'],
    [{ ...look, accent: 'red' }, ours, 422, 'accent'],
    [{ host, name: 'x', accent: '#7a1f3d' }, ours, 422, 'pair'],
    [
      { ...look, logo: `data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}` },
      ours,
      422,
      'PNG',
    ],
    [{ ...look, logo: 'data:image/svg+xml;base64,PHN2Zy8+' }, ours, 422, 'PNG'],
    [{ ...look, organisation_id: theirs }, ours, 422, 'organisation_id'],
    [look, 999_999, 404, 'not_found'],
  ];
  for (const [fields, organisation, status, word] of refused) {
    const answer = await set(fields, organisation);
    expect([fields, answer.status]).toEqual([fields, status]);
    expect(answer.text).toContain(word);
  }
  const german = await addUser(app, 'platform_owner');
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE id = $1", [german]);
  const reader = new Browser(app.url, { host: base, cookie: await signIn(app, german) });
  const page = `/dashboard/admin/organisations/${ours}/domains`;
  for (const [fields, words] of [
    [
      { accent: '#ffd0d0' },
      '#ffd0d0 ist auf hellen Seiten schlecht lesbar: Der Kontrast ist 1,1, nötig ist 4,5.',
    ],
    [{ host: 'localhost' }, 'Geben Sie einen Namen wie models.reseller.example ein'],
    [{ host: base }, 'Dieser Host wird schon verwendet.'],
    [{ logo: 'data:image/svg+xml;base64,PHN2Zy8+' }, 'Das Logo muss ein PNG von höchstens 64 KB sein.'],
  ] as const) {
    const told = await reader.submit(page, { ...look, ...fields, _page: page });
    expect([fields, told.text]).toEqual([fields, expect.stringContaining(words)]);
  }
  const owner = await addUser(app, 'org_owner');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [owner, theirs]);
  const theirOwner = new Browser(app.url, { host: base, cookie: await signIn(app, owner) });
  const path = `/dashboard/admin/organisations/${theirs}/domains`;
  expect((await theirOwner.post(path, { ...look, host: 'mine.example' })).status).toBe(403);
  const entries = await app.database.query("SELECT 1 FROM activity WHERE action = 'organisation.domain-set'");
  expect(entries).toHaveLength(1);
});

test('merged, the host goes along; removed, pages no longer answer there', async () => {
  const merge = await admin.post('/dashboard/admin/organisations/merge', {
    target_org_id: theirs,
    source_org_ids: [ours],
  });
  expect([merge.status, merge.text]).toEqual([200, expect.any(String)]);
  const page = await admin.page(`/dashboard/admin/organisations/${theirs}/domains`);
  expect(page.text).toContain(host);
  const removed = await admin.post(`/dashboard/admin/organisations/${theirs}/domains/delete`, { host });
  expect(removed.status).toBe(200);
  expect((await visitor().page('/login')).status).toBe(421);
  const again = await admin.post(`/dashboard/admin/organisations/${theirs}/domains/delete`, { host });
  expect(again.status).toBe(404);
});

test('the way back in: a link from the command line, once', async () => {
  const email = await registered(app);
  let output = '';
  const code = await executeCommand(['sign-in-link', email.toUpperCase()], {
    environment: app.environment,
    write: (text) => (output += text),
    writeStderr: () => undefined,
    confirm: () => Promise.resolve(false),
  });
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(/^http:\/\/portal\.localhost\/sign-in-link\?token=[\w-]{43}\n$/),
  ]);
  const token = output.trim().split('token=')[1] ?? '';
  const browser = visitor(base);
  expect((await browser.post('/sign-in-link', { token })).status).toBe(200);
  expect((await browser.page('/dashboard/settings')).status).toBe(200);
  expect((await visitor(base).post('/sign-in-link', { token })).json()['code']).toBe('invalid_token');
});
