import { executeCommand } from '#inside/commands/run-command';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import {
  Browser,
  goodPassword,
  mailTo,
  newAddress,
  registerUser,
  registration,
  startAccountFixture,
  tokenIn,
} from './account-fixture';
import { until } from '../../support/until';

/** Hosts on which an organisation shows the portal under its own brand. */
const base = 'portal.localhost';
const host = 'models.reseller.example';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let app: TestApp;
let admin: Browser;
let ownOrganisation: number;
let otherOrganisation: number;

beforeAll(async () => {
  app = await startAccountFixture({
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
  admin.setCookie(name, value);
  const rows = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours'), ('Theirs', 'theirs') RETURNING id",
  );
  [ownOrganisation = 0, otherOrganisation = 0] = rows.map(({ id }) => id);
});
afterAll(() => app.close());

const branding = { host, name: 'Reseller Models', accent: '#7a1f3d', accent_dark: '#ff9db8' };
const saveDomain = (fields: object, organisation = ownOrganisation) =>
  admin.post(`/dashboard/admin/organisations/${organisation}/domains`, fields);
const visitorAt = (name = host): Browser => new Browser(app.url, { host: name });

test('an unconfigured host returns 421, and a configured one shows the name, logo and accent colour of the reseller', async () => {
  expect((await visitorAt().page('/login')).status).toBe(421);
  expect(
    (await saveDomain({ ...branding, logo: `data:image/png;base64,${PNG.toString('base64')}` })).status,
  ).toBe(200);
  const page = await visitorAt().page('/login');
  expect(page.text).toContain('Reseller Models');
  expect(page.text).not.toContain('Switchboard');
  const pageText = page.text.replaceAll('&#x3D;', '=');
  const stylesheetPath = /href="(\/portal\/look\.css\?v=\w+)"/.exec(pageText)?.[1] ?? '';
  const css = await visitorAt().page(stylesheetPath);
  expect(css.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(css.text).toContain('--accent: light-dark(#7a1f3d, #ff9db8)');
  const logoPath = /src="(\/portal\/logo\?v=\w+)"/.exec(pageText)?.[1] ?? '';
  expect((await visitorAt().page(logoPath)).headers.get('content-type')).toBe('image/png');
  const ownPage = await visitorAt(base).page('/login');
  expect(ownPage.text).toContain('Switchboard');
  expect(ownPage.text).not.toContain('/portal/look.css');
  expect((await visitorAt(base).get('/portal/look.css')).status).toBe(404);
  for (const unknownHost of ['elsewhere.example', `sub.${host}`, `${host}:8443`, `${host}.`])
    expect([unknownHost, (await visitorAt(unknownHost).page('/login')).status]).toEqual([unknownHost, 421]);
});

test('examples and texts on a reseller host name only its address', async () => {
  for (const path of ['/', '/guide', '/api-docs']) {
    const { status, text } = await visitorAt().page(path);
    expect([path, status]).toEqual([path, 200]);
    expect(text).toContain(`http://${host}/v1`);
    expect(text).not.toContain(`http://${base}`);
  }
  expect((await visitorAt().page('/features')).text).not.toContain('Switchboard');
  expect((await visitorAt(base).page('/guide')).text).toContain(`http://${base}/v1`);
});

test('cookies belong to the reseller host, and a session is opened and used there', async () => {
  const email = await registerUser(app);
  const browser = visitorAt();
  const answer = await browser.post('/auth/login', { email, password: 'kettle orbit mosaic thunder' });
  expect(answer.status).toBe(200);
  for (const line of answer.headers.getSetCookie()) expect(line).not.toMatch(/domain=/i);
  expect(browser.cookie('svc_session')).toBeDefined();
  const page = await browser.page('/dashboard/settings');
  expect([page.status, page.text.includes('Reseller Models')]).toEqual([200, true]);
  // A cross-origin request changes nothing on this host.
  const crossSiteResponse = await browser.post(
    '/dashboard/settings',
    {},
    { origin: 'https://elsewhere.example' },
  );
  expect(crossSiteResponse.json()['code']).toBe('csrf_rejected');
});

const setProven = (isProven: boolean) =>
  app.database.query(
    `UPDATE reseller_domain SET proven_at = CASE WHEN $2 THEN now() END, seen_at = CASE WHEN $2 THEN now() END
      WHERE host = $1`,
    [host, isProven],
  );

/** Creates a user of an organisation, optionally with a role. */
const createMember = async (organisation: number | null, role = 'user'): Promise<string> => {
  const email = await registerUser(app);
  await app.database.query('UPDATE user_account SET organisation_id = $2, role = $3 WHERE email = $1', [
    email,
    organisation,
    role,
  ]);
  return email;
};
const resetLink = async (email: string, requestHost: string): Promise<string | undefined> => {
  expect((await visitorAt(requestHost).post('/auth/forgot-password', { email })).status).toBe(200);
  return /http:\S+(?=token=)/.exec((await mailTo(app, email, /password/i)).text)?.[0];
};

describe("Links in emails lead to the account's own portal, whichever host requested them", () => {
  const there = `http://${host}/reset-password?`;
  const atBase = `http://${base}/reset-password?`;
  afterAll(() => setProven(false));

  test.each([host, base])('a reset requested at %s', async (requestHost) => {
    await setProven(false);
    expect(await resetLink(await createMember(ownOrganisation), requestHost)).toBe(atBase);
    await setProven(true);
    expect(await resetLink(await createMember(ownOrganisation), requestHost)).toBe(there);
    for (const [organisation, role] of [
      [otherOrganisation, 'user'],
      [null, 'user'],
      [ownOrganisation, 'platform_admin'],
      [ownOrganisation, 'platform_owner'],
      [otherOrganisation, 'org_owner'],
    ] as const)
      expect([role, await resetLink(await createMember(organisation, role), requestHost)]).toEqual([
        role,
        atBase,
      ]);
  });

  test('a new user gets links to BASE_URL, whichever host was used to register', async () => {
    await setProven(true);
    const newcomer = newAddress();
    expect((await visitorAt().post('/auth/register', registration(newcomer))).status).toBe(200);
    const welcome = await mailTo(app, newcomer, /Confirm your email/);
    expect(welcome.text).toContain(`http://${base}/verify-email?token=`);
    expect(welcome.text).not.toContain(host);
    expect((await visitorAt().post('/auth/resend-verification', { email: newcomer })).status).toBe(200);
    expect((await mailTo(app, newcomer, /Confirm your email/)).text).not.toContain(host);
  });

  test.each([
    ['own', host],
    ['another', base],
  ])('an address change by a member of the %s organisation', async (organisation, expected) => {
    await setProven(true);
    const email = await createMember(organisation === 'own' ? ownOrganisation : otherOrganisation);
    const browser = visitorAt();
    await browser.post('/auth/login', { email, password: goodPassword });
    const [next, form] = [newAddress(), { current_password: goodPassword }];
    expect((await browser.post('/dashboard/settings/email', { ...form, email: next })).status).toBe(200);
    const mail = await mailTo(app, next, /Confirm your new address/);
    expect(mail.text).toContain(`http://${expected}/account/email?token=`);
    expect((await visitorAt().post('/account/email', { token: tokenIn(mail) })).status).toBe(200);
    const notification = await mailTo(app, email, /address.*changed|changed.*address/i);
    expect(notification.text).toContain(`http://${expected}/account/email/undo?token=`);
  });

  test('an invitation leads to the portal of the invitee, not of the inviter', async () => {
    await setProven(true);
    for (const [email, expected] of [
      [newAddress(), base],
      [await createMember(otherOrganisation), base],
    ] as const) {
      const inviteResponse = await admin.post('/dashboard/admin/users/invite', {
        email,
        role: 'user',
        org_id: ownOrganisation,
      });
      expect(inviteResponse.status).toBe(200);
      expect((await mailTo(app, email, /invited/)).text).toContain(`http://${expected}/invite/`);
    }
  });
});

test('a provider-only organisation asks for no password on its host', async () => {
  await app.database.query('UPDATE organisation SET sso_only = true WHERE id = $1', [ownOrganisation]);
  await until(async () => !(await visitorAt().page('/login')).text.includes('type="password"'));
  expect((await visitorAt().page('/login')).text).toContain('House directory');
  expect((await visitorAt(base).page('/login')).text).toContain('type="password"');
});

test('an invalid host, colour or logo and a host of another organisation are refused with a reason', async () => {
  const invalidCases: [object, number, number, string][] = [
    [{ ...branding, host: 'localhost' }, ownOrganisation, 422, 'host'],
    [{ ...branding, host: '127.0.0.1' }, ownOrganisation, 422, 'host'],
    [{ ...branding, host: 'https://x.example' }, ownOrganisation, 422, 'host'],
    [{ ...branding, host: 'x.example/path' }, ownOrganisation, 422, 'host'],
    [{ ...branding, host: 'user@x.example' }, ownOrganisation, 422, 'host'],
    [{ ...branding, host: base }, ownOrganisation, 409, 'installation'],
    [branding, otherOrganisation, 409, 'another organisation'],
    [{ ...branding, accent: '#ffd0d0' }, ownOrganisation, 422, 'contrast'],
    [{ ...branding, accent_dark: '#402020' }, ownOrganisation, 422, 'contrast'],
    [{ ...branding, accent: 'red' }, ownOrganisation, 422, 'accent'],
    [{ host, name: 'x', accent: '#7a1f3d' }, ownOrganisation, 422, 'pair'],
    [
      { ...branding, logo: `data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}` },
      ownOrganisation,
      422,
      'PNG',
    ],
    [{ ...branding, logo: 'data:image/svg+xml;base64,PHN2Zy8+' }, ownOrganisation, 422, 'PNG'],
    [{ ...branding, organisation_id: otherOrganisation }, ownOrganisation, 422, 'organisation_id'],
    [branding, 999_999, 404, 'not_found'],
  ];
  for (const [fields, organisation, status, word] of invalidCases) {
    const answer = await saveDomain(fields, organisation);
    expect([fields, answer.status]).toEqual([fields, status]);
    expect(answer.text).toContain(word);
  }
  const germanUser = await addUser(app, 'platform_owner');
  await app.database.query("UPDATE user_account SET preferred_language = 'de' WHERE id = $1", [germanUser]);
  const germanBrowser = new Browser(app.url, { host: base, cookie: await signIn(app, germanUser) });
  const page = `/dashboard/admin/organisations/${ownOrganisation}/domains`;
  for (const [fields, words] of [
    [
      { accent: '#ffd0d0' },
      '#ffd0d0 ist auf hellen Seiten schlecht lesbar: Der Kontrast ist 1,1, nötig ist 4,5.',
    ],
    [{ host: 'localhost' }, 'Geben Sie einen Namen wie models.reseller.example ein'],
    [{ host: base }, 'Dieser Host wird schon verwendet.'],
    [{ logo: 'data:image/svg+xml;base64,PHN2Zy8+' }, 'Das Logo muss ein PNG von höchstens 64 KB sein.'],
  ] as const) {
    const refusalPage = await germanBrowser.submit(page, { ...branding, ...fields, _page: page });
    expect([fields, refusalPage.text]).toEqual([fields, expect.stringContaining(words)]);
  }
  const owner = await addUser(app, 'org_owner');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    owner,
    otherOrganisation,
  ]);
  const otherOwnerBrowser = new Browser(app.url, { host: base, cookie: await signIn(app, owner) });
  const path = `/dashboard/admin/organisations/${otherOrganisation}/domains`;
  expect((await otherOwnerBrowser.post(path, { ...branding, host: 'mine.example' })).status).toBe(403);
  const entries = await app.database.query("SELECT 1 FROM activity WHERE action = 'organisation.domain-set'");
  expect(entries).toHaveLength(1);
});

test('a merge moves the host to the remaining organisation, and a removed host no longer serves pages', async () => {
  const mergeResponse = await admin.post('/dashboard/admin/organisations/merge', {
    target_org_id: otherOrganisation,
    source_org_ids: [ownOrganisation],
  });
  expect([mergeResponse.status, mergeResponse.text]).toEqual([200, expect.any(String)]);
  const page = await admin.page(`/dashboard/admin/organisations/${otherOrganisation}/domains`);
  expect(page.text).toContain(host);
  const removeResponse = await admin.post(
    `/dashboard/admin/organisations/${otherOrganisation}/domains/delete`,
    { host },
  );
  expect(removeResponse.status).toBe(200);
  expect((await visitorAt().page('/login')).status).toBe(421);
  const repeatedRemoval = await admin.post(
    `/dashboard/admin/organisations/${otherOrganisation}/domains/delete`,
    { host },
  );
  expect(repeatedRemoval.status).toBe(404);
});

test('a sign-in link from the command line opens a session once', async () => {
  const email = await registerUser(app);
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
  const browser = visitorAt(base);
  expect((await browser.post('/sign-in-link', { token })).status).toBe(200);
  expect((await browser.page('/dashboard/settings')).status).toBe(200);
  expect((await visitorAt(base).post('/sign-in-link', { token })).json()['code']).toBe('invalid_token');
});
