import { randomUUID } from 'node:crypto';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import {
  Browser,
  goodPassword,
  sendInvitation,
  mailTo,
  newAddress,
  registerUser,
  registration,
  signInBrowser,
  startAccountFixture,
  tokenIn,
} from './account-fixture';

/**
 * Attacks that start before or during a victim's own use of an account: "Pre-hijacked accounts" (A. Sudhodanan, A.
 * Paverd, USENIX Security 2022). Address spellings: CVE-2019-19844, a reset sent to an address that case-folds to
 * another.
 */
let app: TestApp;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountFixture({ environment: { ACCOUNT_FREE_ATTEMPTS: '5' } });
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Harbour', 'harbour') RETURNING id",
  );
  organisationId = row?.id ?? 0;
});
afterAll(() => app.close());

const nextPassword = 'an island of quiet lanterns';
const userIdOf = async (email: string): Promise<number> => {
  const [row] = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  return row?.id ?? 0;
};

async function resetToken(email: string, skip = 0): Promise<string> {
  await new Browser(app.url).post('/auth/forgot-password', { email });
  return tokenIn(await mailTo(app, email, /Choose a new password/, skip));
}

const resetPassword = async (email: string, skip = 0): Promise<void> => {
  const form = { token: await resetToken(email, skip), password: nextPassword };
  expect((await new Browser(app.url).post('/auth/reset-password', form)).status).toBe(200);
};

const changePassword = async (browser: Browser): Promise<void> => {
  const form = { current_password: goodPassword, password: nextPassword };
  expect((await browser.post('/dashboard/settings/password', form)).status).toBe(200);
};

describe.each([
  ['a reset', (_browser: Browser, email: string) => resetPassword(email, 1)],
  ['a change of password', (browser: Browser) => changePassword(browser)],
])('Pending steps after %s', (_name, renew) => {
  test('voids the address change, the reset link and the invitations started before it', async () => {
    const email = await registerUser(app);
    await app.database.query(
      "UPDATE user_account SET role = 'org_admin', organisation_id = $2 WHERE email = $1",
      [email, organisationId],
    );
    const browser = await signInBrowser(app, email);
    const [elsewhere, accomplice] = [newAddress(), newAddress()];
    await browser.post('/dashboard/settings/email', { email: elsewhere, current_password: goodPassword });
    const addressToken = tokenIn(await mailTo(app, elsewhere, /Confirm your new address/));
    const resetLinkToken = await resetToken(email);
    const invitePath = await sendInvitation(
      app,
      `svc_session=${browser.cookie('svc_session')}`,
      accomplice,
      organisationId,
      'org_admin',
    );
    await renew(browser, email);

    const visitor = new Browser(app.url);
    expect((await visitor.post('/account/email', { token: addressToken })).json()['code']).toBe(
      'invalid_token',
    );
    const repeatedReset = { token: resetLinkToken, password: 'something else entirely 8' };
    expect((await visitor.post('/auth/reset-password', repeatedReset)).json()['code']).toBe('invalid_token');
    await registerUser(app, accomplice);
    const guest = await signInBrowser(app, accomplice);
    expect((await guest.post(`${invitePath}/accept`)).json()['code']).toBe('invalid_token');
  });
});

test('a password reset unlinks providers that another person has linked, but not the one that opened the account', async () => {
  const email = await registerUser(app);
  const id = await userIdOf(email);
  const linkProvider = (subject: string, at: string): Promise<unknown> =>
    app.database.query(
      `INSERT INTO linked_identity (issuer, subject, user_id, email, linked_at)
       SELECT 'https://' || $1 || '.example', $1, id, email, ${at} FROM user_account WHERE id = $2`,
      [subject, id],
    );
  await linkProvider('opened', 'created_at');
  await linkProvider('stranger', 'now()');
  await app.database.query(
    `INSERT INTO passkey (credential_id, public_id, user_id, user_handle, public_key, sign_count, transports, name)
     VALUES ('\\x01', $2, $1, '\\x02', '\\x03', 0, '{}', 'stranger')`,
    [id, randomUUID()],
  );
  await resetPassword(email);
  expect(await app.database.query('SELECT subject FROM linked_identity WHERE user_id = $1', [id])).toEqual([
    { subject: 'opened' },
  ]);
  expect(await app.database.query('SELECT 1 FROM passkey WHERE user_id = $1', [id])).toEqual([]);
});

describe('Two registrations of one email address', () => {
  const registerTwice = async (): Promise<{ email: string; first: string; second: string }> => {
    const email = newAddress();
    const browser = new Browser(app.url);
    await browser.post('/auth/register', registration(email));
    const first = tokenIn(await mailTo(app, email, /Confirm/));
    await browser.post('/auth/register', registration(email, 'a stranger chose this one'));
    return { email, first, second: tokenIn(await mailTo(app, email, /Confirm/, 1)) };
  };
  const signInStatus = async (email: string, password: string): Promise<number> =>
    (await new Browser(app.url).post('/auth/login', { email, password })).status;

  test.each([
    ['first', goodPassword, 'a stranger chose this one'],
    ['second', 'a stranger chose this one', goodPassword],
  ] as const)('the %s token sets its own password and voids the other', async (which, own, other) => {
    const { email, ...tokens } = await registerTwice();
    const visitor = new Browser(app.url);
    expect((await visitor.post('/verify-email', { token: tokens[which] })).status).toBe(200);
    expect([await signInStatus(email, own), await signInStatus(email, other)]).toEqual([200, 401]);
    const otherToken = which === 'first' ? tokens.second : tokens.first;
    expect((await visitor.post('/verify-email', { token: otherToken })).json()['code']).toBe('invalid_token');
  });

  test('a resent link asks for a new password, because it is unclear which registration is genuine', async () => {
    const { email } = await registerTwice();
    await new Browser(app.url).post('/auth/resend-verification', { email });
    const form = {
      token: tokenIn(await mailTo(app, email, /Choose a new password/)),
      password: nextPassword,
    };
    expect((await new Browser(app.url).post('/auth/reset-password', form)).status).toBe(200);
    expect(await signInStatus(email, nextPassword)).toBe(200);
    expect(await signInStatus(email, 'a stranger chose this one')).toBe(401);
  });
});

describe('Invitation rights at acceptance', () => {
  const acceptInvitation = async (
    changeSql: string,
  ): Promise<{ status: number; role: string; joined: boolean }> => {
    const inviter = await addUser(app, 'org_owner');
    await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      inviter,
      organisationId,
    ]);
    const email = newAddress();
    const path = await sendInvitation(app, await signIn(app, inviter), email, organisationId, 'org_owner');
    await app.database.query(`UPDATE user_account SET ${changeSql} WHERE id = $1`, [inviter]);
    await registerUser(app, email);
    const guest = await signInBrowser(app, email);
    const { status } = await guest.post(`${path}/accept`);
    const [row] = await app.database.query<{ role: string; organisation_id: number | null }>(
      'SELECT role, organisation_id FROM user_account WHERE email = $1',
      [email],
    );
    return { status, role: row?.role ?? '', joined: row?.organisation_id === organisationId };
  };

  test.each([
    ["status = 'active'", { status: 200, role: 'org_owner', joined: true }],
    ["role = 'org_admin'", { status: 200, role: 'org_admin', joined: true }],
    ["role = 'user'", { status: 401, role: 'user', joined: false }],
    ["status = 'suspended'", { status: 401, role: 'user', joined: false }],
    ['organisation_id = NULL', { status: 401, role: 'user', joined: false }],
  ])('%s', async (after, outcome) => {
    expect(await acceptInvitation(after)).toEqual(outcome);
  });
});

describe('Canonical form of an email address', () => {
  test.each([
    ['İ', 'i'],
    ['ı', 'i'],
    ['i\u0307', 'i'],
    ['\u212a', 'k'],
    ['ſ', 's'],
    ['ﬁ', 'fi'],
    ['ａ', 'a'],
    ['A', 'a'],
    ['ß', 'ss'],
    ['ẞ', 'ss'],
    ['ς', 'σ'],
    ['e\u0301', 'é'],
  ])('%s is treated as %s', async (odd, plain) => {
    const addressSuffix = `${randomUUID().slice(0, 8)}@example.com`;
    const [row] = await app.database.query<{ alike: boolean }>(
      'SELECT canonical_address($1) = canonical_address($2) AS alike',
      [` ${odd}${addressSuffix} `, plain + addressSuffix],
    );
    expect(row).toEqual({ alike: true });
  });

  test('sign-in attempts are throttled per canonical address, and only one account can be opened for it', async () => {
    const addressSuffix = `${randomUUID().slice(0, 8)}@example.com`;
    const email = await registerUser(app, `iiii${addressSuffix}`);
    const statuses: number[] = [];
    for (const spelling of ['İiii', 'iİii', 'iiİi', 'iiiİ', 'ıiii', 'iıii', 'IIII'])
      statuses.push(
        (
          await new Browser(app.url).post('/auth/login', {
            email: spelling + addressSuffix,
            password: 'not it at all',
          })
        ).status,
      );
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
    await new Browser(app.url).post('/auth/register', registration(`İiii${addressSuffix}`));
    await mailTo(app, email, /already have an account/);
    expect(
      await app.database.query('SELECT 1 FROM user_account WHERE email LIKE $1', [`%${addressSuffix}`]),
    ).toHaveLength(1);
  });

  test('existing accounts with colliding canonical addresses keep separate sign-ins', async () => {
    const addressSuffix = `${randomUUID().slice(0, 8)}@example.com`;
    const email = await registerUser(app, `i${addressSuffix}`);
    const { id } = (
      await app.database.query<{ id: number }>(
        `INSERT INTO user_account (email, display_name, status, password_hash, shares_address)
         SELECT 'ı' || $2::text, 'Other', 'active', password_hash, true FROM user_account WHERE email = $1 RETURNING id`,
        [email, addressSuffix],
      )
    )[0]!;
    const dotlessBrowser = await signInBrowser(app, `ı${addressSuffix}`);
    expect((await dotlessBrowser.get('/account/data')).json()).toMatchObject({
      account: { email: `ı${addressSuffix}` },
    });
    const first = await signInBrowser(app, email);
    expect((await first.get('/account/data')).json()).toMatchObject({ account: { email } });
    await app.database.query('UPDATE user_account SET shares_address = false WHERE id <> $1', [id]);
  });
});
