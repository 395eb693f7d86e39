import {
  registerConfirmedUser,
  cookiesOf,
  expectSession,
  mailTo,
  newAddress,
  password,
  registerUser,
  signInByPassword,
  statusOf,
  tokenIn,
} from '../accounts';
import { type ReadResponse, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const crossSite = { headers: { 'sec-fetch-site': 'cross-site' } };

/** Token of the mail that a password reset sends. */
async function resetToken(world: World, email: string): Promise<string> {
  expectStatus(await world.anonymous.post('/auth/forgot-password', { json: { email } }), 200);
  return tokenIn(await mailTo(world, email, /Choose a new password/));
}

const linksOf = (world: World, email: string): Promise<{ hash: string }[]> =>
  world.rows(
    `SELECT encode(t.token_hash, 'hex') AS hash FROM account_token t JOIN user_account u ON u.id = t.user_id
      WHERE u.email = $1 AND t.purpose = 'verify_email'`,
    [email],
  );

/** Waits until the stored link differs from the given one. */
async function waitForNewLink(world: World, email: string, [before]: { hash: string }[]): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    const [link, ...others] = await linksOf(world, email);
    if (link !== undefined && others.length === 0 && link.hash !== before?.hash) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('no new link');
}

async function expectMailAddress(world: World, path: string): Promise<void> {
  const answer = await world.anonymous.post(path, { json: { email: 'nobody' } });
  expectStatus(answer, 422, 'validation_error');
}

const newSecret = 'a wholly different phrase';

const signInScenarios: readonly Scenario[] = [
  {
    operation: 'POST /auth/register',
    success: async (world) => {
      const { email, token } = await registerUser(world);
      expect((await statusOf(world, email)) === 'pending_verification', 'the account waits for its address');
      expectStatus(await world.anonymous.post('/verify-email', { json: { token } }), 200);
      expect((await statusOf(world, email)) === 'active', 'the mail opens the account');
    },
    badInput: async (world) => {
      const body = { email: newAddress(), password, display_name: 'Anna' };
      expectStatus(await world.anonymous.post('/auth/register', { json: body }), 403, 'tos_not_accepted');
      const weakPassword = { ...body, password: 'passwordpassword', terms: true };
      expectStatus(
        await world.anonymous.post('/auth/register', { json: weakPassword }),
        400,
        'weak_password',
      );
    },
    withoutRights: 'public',
  },
  {
    operation: 'POST /auth/login',
    success: async (world) =>
      expectSession(await signInByPassword(world, await registerConfirmedUser(world)), true),
    badInput: async (world) => {
      const json = { email: await registerConfirmedUser(world), password: 'not the password' };
      expectStatus(await world.anonymous.post('/auth/login', { json }), 401, 'invalid_credentials');
    },
    withoutRights: 'public',
  },
  {
    operation: 'POST /auth/forgot-password',
    success: async (world) => {
      const token = await resetToken(world, await registerConfirmedUser(world));
      expect(token.length === 43, 'the mail carries a link');
    },
    badInput: (world) => expectMailAddress(world, '/auth/forgot-password'),
    withoutRights: 'public',
  },
  {
    operation: 'POST /auth/reset-password',
    success: async (world) => {
      const email = await registerConfirmedUser(world);
      const before = await signInByPassword(world, email);
      const json = { token: await resetToken(world, email), password: newSecret };
      expectStatus(await world.anonymous.post('/auth/reset-password', { json }), 200);
      await expectSession(before, false);
      await expectSession(await signInByPassword(world, email, newSecret), true);
      expectStatus(await world.anonymous.post('/auth/reset-password', { json }), 401, 'invalid_token');
    },
    badInput: async (world) => {
      const json = { token: 'A'.repeat(43), password: newSecret };
      expectStatus(await world.anonymous.post('/auth/reset-password', { json }), 401, 'invalid_token');
    },
    withoutRights: 'public',
  },
  {
    operation: 'POST /auth/resend-verification',
    success: async (world) => {
      const { email, token } = await registerUser(world);
      const before = await linksOf(world, email);
      expectStatus(await world.anonymous.post('/auth/resend-verification', { json: { email } }), 200);
      await waitForNewLink(world, email, before);
      expectStatus(await world.anonymous.post('/verify-email', { json: { token } }), 401, 'invalid_token');
    },
    badInput: (world) => expectMailAddress(world, '/auth/resend-verification'),
    withoutRights: 'public',
  },
  {
    operation: 'POST /set-language',
    success: async (world) => {
      const answer = await world.anonymous.post('/set-language', { json: { language: 'fr' } });
      expectStatus(answer, 200);
      const page = await world.anonymous.get('/login', { headers: { cookie: cookiesOf(answer) } });
      expect(page.text.includes('<html lang="fr"'), 'pages are shown in French');
    },
    badInput: async (world) => {
      const answer = await world.anonymous.post('/set-language', { json: { language: 'xx' } });
      expectStatus(answer, 422, 'language');
    },
    withoutRights: 'public',
  },
];

const sessions: readonly Scenario[] = [
  {
    operation: 'GET /logout',
    success: async (world) => {
      const { client } = await world.newPerson();
      await expectSession(client, true);
      const answer = await client.get('/logout', { headers: { accept: 'text/html' } });
      expect(answer.headers.get('location') === '/login?notice=signed-out', 'the sign-in page follows');
      await expectSession(client, false);
    },
    badInput: 'none',
    withoutRights: async (world) => {
      const { client } = await world.newPerson();
      expectStatus(await client.get('/logout', crossSite), 403, 'csrf_rejected');
      await expectSession(client, true);
    },
  },
  {
    operation: 'GET /api/legal/status',
    success: async (world) => {
      const { client } = await world.newPerson();
      const before = jsonOf(await client.get('/api/legal/status'));
      await client.post('/api/legal/accept', { json: {} });
      const after = jsonOf(await client.get('/api/legal/status'));
      expect(
        before['accepted'] === false && after['accepted'] === true,
        'the status follows what is accepted',
      );
    },
    badInput: 'none',
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/api/legal/status'), 401),
  },
  {
    operation: 'POST /api/legal/accept',
    success: async (world) => {
      const { client, userId } = await world.newPerson();
      for (const _time of [1, 2]) expectStatus(await client.post('/api/legal/accept', { json: {} }), 200);
      const rows = await world.rows('SELECT 1 FROM legal_acceptance WHERE user_id = $1', [userId]);
      expect(rows.length === 1, `kept once: ${rows.length}`);
    },
    badInput: 'none',
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.post('/api/legal/accept', { json: {} }), 401);
      const { client } = await world.newPerson();
      expectStatus(await client.post('/api/legal/accept', { json: {}, ...crossSite }), 403, 'csrf_rejected');
    },
  },
];

async function expectSettings(answer: ReadResponse, text: string): Promise<void> {
  expectStatus(answer, 200);
  expect(answer.text.includes(text), `the page does not hold "${text}"`);
  return Promise.resolve();
}

const settings: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/settings',
    success: async (world) => {
      const { client, email } = await world.newPerson();
      const answer = await client.get('/dashboard/settings', { headers: { accept: 'text/html' } });
      await expectSettings(answer, email);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get('/dashboard/settings?saved=nothing'), 422, 'saved');
    },
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/dashboard/settings'), 401),
  },
  {
    operation: 'POST /dashboard/settings',
    success: async (world) => {
      const { client, userId } = await world.newPerson();
      const json = { display_name: 'Ada Roth', preferred_language: 'it', time_zone: 'Europe/Rome' };
      expectStatus(await client.post('/dashboard/settings', { json }), 200);
      const [row] = await world.rows(
        'SELECT display_name, preferred_language, time_zone FROM user_account WHERE id = $1',
        [userId],
      );
      expect(JSON.stringify(row) === JSON.stringify(json), `saved: ${JSON.stringify(row)}`);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      const json = { time_zone: 'Mars/Base' };
      expectStatus(await client.post('/dashboard/settings', { json }), 422, 'time_zone');
    },
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.post('/dashboard/settings', { json: {} }), 401),
  },
  {
    operation: 'POST /dashboard/settings/display-name',
    success: async (world) => {
      const { client } = await world.newPerson();
      const json = { display_name: 'Grace' };
      expectStatus(await client.post('/dashboard/settings/display-name', { json }), 200);
      const page = await client.get('/dashboard/settings', { headers: { accept: 'text/html' } });
      await expectSettings(page, 'value="Grace"');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      const json = { display_name: ' ' };
      const answer = await client.post('/dashboard/settings/display-name', { json });
      expectStatus(answer, 422, 'display_name');
    },
    withoutRights: async (world) => {
      const json = { display_name: 'Grace' };
      expectStatus(await world.anonymous.post('/dashboard/settings/display-name', { json }), 401);
    },
  },
];

export const accountScenarios: readonly Scenario[] = [...signInScenarios, ...sessions, ...settings];
