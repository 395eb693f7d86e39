import { registerConfirmedUser, expectPage, mailTo, password, registerUser, tokenIn } from '../accounts';
import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

type BadInput = Scenario['badInput'];

/** A public page with texts expected in two languages and a query that the page rejects. */
function page(path: string, texts: readonly string[], german: string, badInput: BadInput = 'none'): Scenario {
  return {
    operation: `GET ${path}`,
    success: async (world) => {
      await expectPage(world.anonymous, path, '</html>', ...texts);
      await expectPage(world.anonymous.with({ 'accept-language': 'de' }), path, '<html lang="de"', german);
    },
    badInput,
    withoutRights: 'public',
  };
}

const refuses =
  (path: string, field: string): BadInput =>
  async (world) =>
    expectStatus(await world.anonymous.get(path), 422, field);

const long = 'x'.repeat(101);

const inHtml = { headers: { accept: 'text/html' } };

/** Users whose account is inactive see this page of the portal. */
function inactiveAccount(status: 'archived' | 'suspended'): Scenario {
  const path = `/account/${status}`;
  return {
    operation: `GET ${path}`,
    success: async (world) => {
      const { client } = await world.newPerson({ status });
      const response = await client.get('/dashboard/settings', inHtml);
      expect(response.headers.get('location') === path, 'pages lead to the notice');
      await expectPage(client, path, `This account is ${status}`, 'href="/logout"');
    },
    badInput: 'none',
    withoutRights: async (world) => {
      expectStatus(await world.anonymous.get(path), 401, 'authentication_required');
      const { client } = await world.person('user');
      await expectPage(client, path, 'Your account is active');
      const page = await client.get(path, inHtml);
      expect(!page.text.includes(`This account is ${status}`), 'nobody else is told that it rests');
    },
  };
}

const accountPages: readonly Scenario[] = [
  page(
    '/login',
    ['action="/auth/login"', 'autocomplete="current-password"', 'href="/auth/idp1"'],
    'Anmelden',
    refuses(`/login?notice=${long}`, 'notice'),
  ),
  page(
    '/signup',
    ['action="/auth/register"', 'autocomplete="new-password"'],
    'Konto',
    refuses('/signup?email=nobody', 'email'),
  ),
  page(
    '/forgot-password',
    ['action="/auth/forgot-password"'],
    'Passwort',
    refuses(`/forgot-password?sent=${long}`, 'sent'),
  ),
  {
    operation: 'GET /reset-password',
    success: async (world) => {
      const email = await registerConfirmedUser(world);
      await world.anonymous.post('/auth/forgot-password', { json: { email } });
      const token = tokenIn(await mailTo(world, email, /Choose a new password/));
      await expectPage(
        world.anonymous,
        `/reset-password?token=${token}`,
        'action="/auth/reset-password"',
        token,
      );
      const json = { token, password: `${password} again` };
      await world.anonymous.post('/auth/reset-password', { json });
      await expectPage(world.anonymous, `/reset-password?token=${token}`, 'no longer works');
    },
    badInput: refuses(`/reset-password?token=${long}`, 'token'),
    withoutRights: 'public',
  },
  {
    operation: 'GET /verify-email',
    success: async (world) => {
      const { token } = await registerUser(world);
      await expectPage(world.anonymous, `/verify-email?token=${token}`, 'action="/verify-email"', token);
      // Opening the page does not confirm the address: the token still works.
      expectStatus(await world.anonymous.post('/verify-email', { json: { token } }), 200);
    },
    badInput: refuses(`/verify-email?token=${long}`, 'token'),
    withoutRights: 'public',
  },
  inactiveAccount('archived'),
  inactiveAccount('suspended'),
];

const productPages: readonly Scenario[] = [
  page('/', ['/v1/chat/completions', 'href="/signup"'], 'Anmelden'),
  page('/pricing', ['sim-small', 'name="amount"'], 'Preise', refuses(`/pricing?amount=${long}`, 'amount')),
  page('/features', ['id="', 'href="/api-docs/errors#'], 'Funktionen'),
  page('/api-docs', ['/v1/chat/completions', '/v1/embeddings', '/v1/manage/keys'], 'API'),
  page('/guide', ['sim-large', 'id="python"', 'ANTHROPIC_BASE_URL'], 'Anleitung'),
  page('/security', ['id="'], 'Sicherheit'),
  {
    operation: 'GET /models-public',
    success: async (world) => {
      await expectPage(world.anonymous, '/models-public', 'sim-small', 'sim-large');
      await expectPage(world.anonymous, '/models-public?kind=embedding', 'sim-embed');
      const data = jsonOf(await world.anonymous.get('/models-public?format=json&q=sim-small'))['data'];
      const ids = (data as { id: string }[]).map(({ id }) => id);
      expect(ids.join() === 'sim-small', `the selection for programs: ${ids.join()}`);
    },
    badInput: refuses('/models-public?max_price=much', 'max_price'),
    withoutRights: 'public',
  },
  page('/controls', ['1000000'], 'Limits und Kontrollen'),
  page('/certifications', ['</h1>'], 'Zertifi'),
  page('/developers', ['href="/developers/api"'], 'Entwickl'),
  ...['terms', 'aup', 'privacy', 'cookies', 'dpa', 'refund', 'billing', 'security'].map((name) =>
    page(`/legal/${name}`, ['<article', '</h2>'], '<h2', async (world: World) => {
      expectStatus(await world.anonymous.get(`/legal/${name}?version=${'1'.repeat(41)}`), 422, 'version');
      expectStatus(await world.anonymous.get(`/legal/${name}?version=never`), 404, 'not_found');
    }),
  ),
];

export const publicPageScenarios: readonly Scenario[] = [...accountPages, ...productPages];
