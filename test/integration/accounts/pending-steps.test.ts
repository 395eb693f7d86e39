import { randomUUID } from 'node:crypto';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import {
  Browser,
  goodPassword,
  invited,
  mailTo,
  newAddress,
  registered,
  registration,
  signedIn,
  startAccountHouse,
  tokenIn,
} from './account-house';

/**
 * Attacks that begin before, or during, a victim's own use of an account, as A. Sudhodanan and A. Paverd name them in
 * "Pre-hijacked accounts" (USENIX Security 2022, read 2026-11-26): what was begun with former credentials ends with
 * them. Spellings of one address: CVE-2019-19844 (2019-12-18), a reset mailed to an address that folds to another.
 */
let app: TestApp;
let organisationId: number;

beforeAll(async () => {
  app = await startAccountHouse({ environment: { ACCOUNT_FREE_ATTEMPTS: '5' } });
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Harbour', 'harbour') RETURNING id",
  );
  organisationId = row?.id ?? 0;
});
afterAll(() => app.close());

const nextPassword = 'an island of quiet lanterns';
const idOf = async (email: string): Promise<number> => {
  const [row] = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    email,
  ]);
  return row?.id ?? 0;
};

async function resetToken(email: string, skip = 0): Promise<string> {
  await new Browser(app.url).post('/auth/forgot-password', { email });
  return tokenIn(await mailTo(app, email, /Choose a new password/, skip));
}

const reset = async (email: string, skip = 0): Promise<void> => {
  const form = { token: await resetToken(email, skip), password: nextPassword };
  expect((await new Browser(app.url).post('/auth/reset-password', form)).status).toBe(200);
};

const change = async (browser: Browser): Promise<void> => {
  const form = { current_password: goodPassword, password: nextPassword };
  expect((await browser.post('/dashboard/settings/password', form)).status).toBe(200);
};

describe.each([
  ['a reset', (_browser: Browser, email: string) => reset(email, 1)],
  ['a change of password', (browser: Browser) => change(browser)],
])('%s', (_name, renew) => {
  test('voids the change of address, the reset link and the invitations begun before it', async () => {
    const email = await registered(app);
    await app.database.query(
      "UPDATE user_account SET role = 'org_admin', organisation_id = $2 WHERE email = $1",
      [email, organisationId],
    );
    const browser = await signedIn(app, email);
    const [elsewhere, accomplice] = [newAddress(), newAddress()];
    await browser.post('/dashboard/settings/email', { email: elsewhere, current_password: goodPassword });
    const address = tokenIn(await mailTo(app, elsewhere, /Confirm your new address/));
    const link = await resetToken(email);
    const invite = await invited(
      app,
      `svc_session=${browser.cookie('svc_session')}`,
      accomplice,
      organisationId,
      'org_admin',
    );
    await renew(browser, email);

    const visitor = new Browser(app.url);
    expect((await visitor.post('/account/email', { token: address })).json()['code']).toBe('invalid_token');
    const again = { token: link, password: 'something else entirely 8' };
    expect((await visitor.post('/auth/reset-password', again)).json()['code']).toBe('invalid_token');
    await registered(app, accomplice);
    const guest = await signedIn(app, accomplice);
    expect((await guest.post(`${invite}/accept`)).json()['code']).toBe('invalid_token');
  });
});

test('a reset takes away what another linked to the account meanwhile, but not what had opened it', async () => {
  const email = await registered(app);
  const id = await idOf(email);
  const link = (subject: string, at: string): Promise<unknown> =>
    app.database.query(
      `INSERT INTO linked_identity (issuer, subject, user_id, email, linked_at)
       SELECT 'https://' || $1 || '.example', $1, id, email, ${at} FROM user_account WHERE id = $2`,
      [subject, id],
    );
  await link('opened', 'created_at');
  await link('stranger', 'now()');
  await app.database.query(
    `INSERT INTO passkey (credential_id, public_id, user_id, user_handle, public_key, sign_count, transports, name)
     VALUES ('\\x01', $2, $1, '\\x02', '\\x03', 0, '{}', 'stranger')`,
    [id, randomUUID()],
  );
  await reset(email);
  expect(await app.database.query('SELECT subject FROM linked_identity WHERE user_id = $1', [id])).toEqual([
    { subject: 'opened' },
  ]);
  expect(await app.database.query('SELECT 1 FROM passkey WHERE user_id = $1', [id])).toEqual([]);
});

describe('two registrations of one address', () => {
  const twice = async (): Promise<{ email: string; first: string; second: string }> => {
    const email = newAddress();
    const browser = new Browser(app.url);
    await browser.post('/auth/register', registration(email));
    const first = tokenIn(await mailTo(app, email, /Confirm/));
    await browser.post('/auth/register', registration(email, 'a stranger chose this one'));
    return { email, first, second: tokenIn(await mailTo(app, email, /Confirm/, 1)) };
  };
  const statusOf = async (email: string, password: string): Promise<number> =>
    (await new Browser(app.url).post('/auth/login', { email, password })).status;

  test.each([
    ['first', goodPassword, 'a stranger chose this one'],
    ['second', 'a stranger chose this one', goodPassword],
  ] as const)('the %s token brings its own password, and voids the other', async (which, own, other) => {
    const { email, ...tokens } = await twice();
    const visitor = new Browser(app.url);
    expect((await visitor.post('/verify-email', { token: tokens[which] })).status).toBe(200);
    expect([await statusOf(email, own), await statusOf(email, other)]).toEqual([200, 401]);
    const late = which === 'first' ? tokens.second : tokens.first;
    expect((await visitor.post('/verify-email', { token: late })).json()['code']).toBe('invalid_token');
  });

  test('a link asked for anew sets a password instead of guessing whose counts', async () => {
    const { email } = await twice();
    await new Browser(app.url).post('/auth/resend-verification', { email });
    const form = {
      token: tokenIn(await mailTo(app, email, /Choose a new password/)),
      password: nextPassword,
    };
    expect((await new Browser(app.url).post('/auth/reset-password', form)).status).toBe(200);
    expect(await statusOf(email, nextPassword)).toBe(200);
    expect(await statusOf(email, 'a stranger chose this one')).toBe(401);
  });
});

describe('an invitation grants what its sender may grant when it is accepted', () => {
  const accepted = async (after: string): Promise<{ status: number; role: string; joined: boolean }> => {
    const inviter = await addUser(app, 'org_owner');
    await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      inviter,
      organisationId,
    ]);
    const email = newAddress();
    const path = await invited(app, await signIn(app, inviter), email, organisationId, 'org_owner');
    await app.database.query(`UPDATE user_account SET ${after} WHERE id = $1`, [inviter]);
    await registered(app, email);
    const guest = await signedIn(app, email);
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
    expect(await accepted(after)).toEqual(outcome);
  });
});

describe('one address has one canonical form', () => {
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
  ])('%s is taken for %s', async (odd, plain) => {
    const rest = `${randomUUID().slice(0, 8)}@example.com`;
    const [row] = await app.database.query<{ alike: boolean }>(
      'SELECT canonical_address($1) = canonical_address($2) AS alike',
      [` ${odd}${rest} `, plain + rest],
    );
    expect(row).toEqual({ alike: true });
  });

  test('guesses are counted under it, and one account is opened under it', async () => {
    const rest = `${randomUUID().slice(0, 8)}@example.com`;
    const email = await registered(app, `iiii${rest}`);
    const statuses: number[] = [];
    for (const odd of ['İiii', 'iİii', 'iiİi', 'iiiİ', 'ıiii', 'iıii', 'IIII'])
      statuses.push(
        (await new Browser(app.url).post('/auth/login', { email: odd + rest, password: 'not it at all' }))
          .status,
      );
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
    await new Browser(app.url).post('/auth/register', registration(`İiii${rest}`));
    await mailTo(app, email, /already have an account/);
    expect(
      await app.database.query('SELECT 1 FROM user_account WHERE email LIKE $1', [`%${rest}`]),
    ).toHaveLength(1);
  });

  test('accounts that collide under it each keep their own way in', async () => {
    const rest = `${randomUUID().slice(0, 8)}@example.com`;
    const email = await registered(app, `i${rest}`);
    const { id } = (
      await app.database.query<{ id: number }>(
        `INSERT INTO user_account (email, display_name, status, password_hash, shares_address)
         SELECT 'ı' || $2::text, 'Other', 'active', password_hash, true FROM user_account WHERE email = $1 RETURNING id`,
        [email, rest],
      )
    )[0]!;
    const entered = await signedIn(app, `ı${rest}`);
    expect((await entered.get('/account/data')).json()).toMatchObject({ account: { email: `ı${rest}` } });
    const first = await signedIn(app, email);
    expect((await first.get('/account/data')).json()).toMatchObject({ account: { email } });
    await app.database.query('UPDATE user_account SET shares_address = false WHERE id <> $1', [id]);
  });
});
