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
} from '../../../operations/accounts';
import { expect, expectStatus, jsonOf } from '../../../operations/http';
import { row, type SpecificationRow } from '../../row';
import {
  callTo,
  equal,
  inHtml,
  expectRedirect,
  okHtml,
  okJson,
  expectRejected,
  refusesAnonymous,
} from './row-helpers';

const newSecret = 'a wholly different phrase';

const passwords: readonly SpecificationRow[] = [
  row('4.10', '`POST /auth/register` registers an account by email and password', async (world) => {
    const email = newAddress();
    const json = { email, password, display_name: 'Anna Weber', terms: true };
    okJson(await world.anonymous.post('/auth/register', { json }));
    expect((await statusOf(world, email)) !== undefined, 'there is an account');
  }),
  row('4.10', '`POST /auth/login` signs in by email and password', async (world) => {
    const email = await registerConfirmedUser(world);
    const answer = await world.anonymous.post('/auth/login', { json: { email, password } });
    okJson(answer);
    const client = world.anonymous.with({ cookie: cookiesOf(answer) });
    okHtml(await client.get('/dashboard/settings', inHtml), email);
    const failedSignIn = await world.anonymous.post('/auth/login', { json: { email, password: newSecret } });
    expectRejected(failedSignIn, 401, 'invalid_credentials');
  }),
  row('4.10', '`POST /auth/forgot-password` sends a mail to reset the password', async (world) => {
    const email = await registerConfirmedUser(world);
    okJson(await world.anonymous.post('/auth/forgot-password', { json: { email } }));
    const token = tokenIn(await mailTo(world, email, /Choose a new password/));
    okHtml(await world.anonymous.get(`/reset-password?token=${token}`, inHtml), token);
  }),
  row('4.10', '`POST /auth/reset-password` resets the password with the token of the mail', async (world) => {
    const email = await registerConfirmedUser(world);
    okJson(await world.anonymous.post('/auth/forgot-password', { json: { email } }));
    const token = tokenIn(await mailTo(world, email, /Choose a new password/));
    const json = { token, password: newSecret };
    okJson(await world.anonymous.post('/auth/reset-password', { json }));
    await expectSession(await signInByPassword(world, email, newSecret), true);
    const before = await world.anonymous.post('/auth/login', { json: { email, password } });
    expectRejected(before, 401, 'invalid_credentials');
    expectRejected(await world.anonymous.post('/auth/reset-password', { json }), 401, 'invalid_token');
  }),
  row(
    '4.10',
    '`POST /auth/resend-verification` sends the mail that confirms an address once more',
    async (world) => {
      const { email, token } = await registerUser(world);
      okJson(await world.anonymous.post('/auth/resend-verification', { json: { email } }));
      const deadline = Date.now() + 20_000;
      let renewedToken = token;
      while (renewedToken === token && Date.now() < deadline) {
        renewedToken = tokenIn(await mailTo(world, email, /Confirm your email/));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(renewedToken !== token, 'another mail came');
      okJson(await world.anonymous.post('/verify-email', { json: { token: renewedToken } }));
      equal(await statusOf(world, email), 'active', 'the status');
    },
  ),
];

const language: readonly SpecificationRow[] = [
  row('4.10', '`POST /set-language` sets the preferred language by a cookie', async (world) => {
    const answer = await world.anonymous.post('/set-language', { json: { language: 'fr' } });
    okJson(answer);
    const page = await world.anonymous.get('/login', { headers: { cookie: cookiesOf(answer) } });
    okHtml(page, '<html lang="fr"');
  }),
  row(
    '4.10',
    '`POST /set-language` keeps the language in the profile of a person who is signed in',
    async (world) => {
      const { client, userId } = await world.newPerson();
      okJson(await client.post('/set-language', { json: { language: 'it' } }));
      const otherSession = await world.signIn({ id: userId, email: '' });
      okHtml(await otherSession.client.get('/dashboard', inHtml), '<html lang="it"');
    },
  ),
];

const sessions: readonly SpecificationRow[] = [
  row('4.10', '`GET /logout` ends the session', async (world) => {
    const { client } = await world.newPerson();
    okJson(await client.get('/api/legal/status'));
    okJson(await client.get('/logout'));
    await expectSession(client, false);
    const browser = await world.newPerson();
    expectRedirect(await browser.client.get('/logout', inHtml), '/login?notice=signed-out');
    await expectSession(browser.client, false);
  }),
  row(
    '4.10',
    '`POST /api/legal/accept` records the acceptance for the person who is signed in',
    async (world) => {
      const [one, other] = [await world.newPerson(), await world.newPerson()];
      okJson(await one.client.post('/api/legal/accept', { json: {} }));
      equal(okJson(await one.client.get('/api/legal/status'))['accepted'], true, 'accepted');
      equal(okJson(await other.client.get('/api/legal/status'))['accepted'], false, 'by another');
      await refusesAnonymous(world, callTo('POST', '/api/legal/accept', { json: {} }));
    },
  ),
  row(
    '4.10',
    '`GET /api/legal/status` tells whether the person accepted the legal version that is current',
    async (world) => {
      const { client, userId } = await world.newPerson();
      await world.rows("INSERT INTO legal_acceptance (user_id, version) VALUES ($1, 'of long ago')", [
        userId,
      ]);
      const before = okJson(await client.get('/api/legal/status'));
      equal(before['accepted'], false, 'an earlier version alone');
      okJson(await client.post('/api/legal/accept', { json: {} }));
      const after = okJson(await client.get('/api/legal/status'));
      equal(after['accepted'], true, 'the current one');
      equal(after['version'], before['version'], 'the version');
      await refusesAnonymous(world, callTo('GET', '/api/legal/status'));
    },
  ),
];

const settings: readonly SpecificationRow[] = [
  row('4.10', '`GET /dashboard/settings` is the page of settings', async (world) => {
    const { client, email } = await world.newPerson();
    okHtml(await client.get('/dashboard/settings'), email);
  }),
  row('4.10', '`POST /dashboard/settings` saves settings', async (world) => {
    const { client } = await world.newPerson();
    const json = { display_name: 'Ada Roth', preferred_language: 'de', time_zone: 'Europe/Rome' };
    okJson(await client.post('/dashboard/settings', { json }));
    okHtml(await client.get('/dashboard/settings', inHtml), 'Ada Roth', '<html lang="de"', 'Europe/Rome');
  }),
  row('4.10', '`POST /dashboard/settings/display-name` takes a JSON object', async (world) => {
    const { client } = await world.newPerson();
    okJson(await client.post('/dashboard/settings/display-name', { json: { display_name: 'Eva Lind' } }));
    okHtml(await client.get('/dashboard/settings', inHtml), 'Eva Lind');
  }),
  row(
    '4.10',
    'The object of `POST /dashboard/settings/display-name` may have any properties',
    async (world) => {
      const { client } = await world.newPerson();
      const json = { display_name: 'Eva Lind', note: 'anything', nested: { more: [1, 2] } };
      okJson(await client.post('/dashboard/settings/display-name', { json }));
      okHtml(await client.get('/dashboard/settings', inHtml), 'Eva Lind');
    },
  ),
  row(
    '3',
    'There is a page for people whose account is archived, which `GET /account/archived` serves',
    async (world) => {
      const { client } = await world.newPerson({ status: 'archived' });
      okHtml(await client.get('/account/archived'), 'This account is archived');
      expectRedirect(await client.get('/dashboard', inHtml), '/account/archived');
    },
  ),
  row(
    '3',
    'There is a page for people whose account is suspended, which `GET /account/suspended` serves',
    async (world) => {
      const { client } = await world.newPerson({ status: 'suspended' });
      okHtml(await client.get('/account/suspended'), 'This account is suspended');
      expectRedirect(await client.get('/dashboard', inHtml), '/account/suspended');
    },
  ),
  ...(['archived', 'suspended'] as const).map((status) =>
    row(
      '4.10',
      `\`GET /account/${status}\` answers 200 with the notice to everybody who is signed in`,
      async (world) => {
        const { client } = await world.newPerson();
        okHtml(await client.get(`/account/${status}`));
        await refusesAnonymous(world, callTo('GET', `/account/${status}`));
      },
    ),
  ),
  row(
    '2.5',
    'Answers of the portal keep `error` and `detail`, and add `code`, `message` and `human_message`',
    async (world) => {
      const { client } = await world.newPerson();
      const answer = await client.get('/dashboard/nothing-here');
      expectStatus(answer, 404);
      const { error, detail, code, message, human_message: human } = jsonOf(answer);
      equal(
        [error, detail, code, message],
        [human, human, 'not_found', `not_found - ${String(human)}`],
        'the error',
      );
      expect(typeof human === 'string' && human !== '', 'a text for people');
    },
  ),
];

export const accountRows: readonly SpecificationRow[] = [...passwords, ...language, ...sessions, ...settings];
