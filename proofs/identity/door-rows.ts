import { Authenticator, type CreationAsked, type RequestAsked } from '../../test/support/authenticator';
import { claimShapes, outcomeOf } from '../../test/support/claim-shapes';
import { openIdClient, type OpenIdStandIn } from '../../test/support/openid-stand-in';
import { githubClient, type GithubPerson, type GithubStandIn } from '../../test/support/github-stand-in';
import { type Answer, type Client, expect, expectStatus, jsonOf } from '../operations/http';
import type { Person, World } from '../operations/world';
import type { Row } from './rows';

/** The configured public address. Requests go to the actual port. */
export const portalAddress = 'http://localhost:4999';

export const providerEnvironment = (
  { url }: GithubStandIn,
  provider: OpenIdStandIn,
): Record<string, string> => ({
  IDP1_ISSUER: provider.url,
  IDP1_CLIENT_ID: openIdClient.id,
  IDP1_CLIENT_SECRET: openIdClient.secret,
  BASE_URL: portalAddress,
  IDP2_KIND: 'github',
  IDP2_ISSUER: url,
  IDP2_CLIENT_ID: githubClient.id,
  IDP2_CLIENT_SECRET: githubClient.secret,
});

const settings = '/dashboard/settings/passkeys';
const passkey = '/auth/passkey';

function cookieIn(answer: Answer, name: string): string {
  const line = answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? '';
  return line.split(';')[0] ?? '';
}

const withCookie = (client: Client, ...cookies: string[]): Client =>
  client.with({ cookie: [client.headers['cookie'], ...cookies].filter(Boolean).join('; ') });

async function enrolled({ client }: Person): Promise<Authenticator> {
  const device = new Authenticator(portalAddress);
  const begun = await client.post(`${settings}/begin`, { json: {} });
  expectStatus(begun, 200);
  const credential = device.create(jsonOf(begun)['options'] as CreationAsked);
  const asked = withCookie(client, cookieIn(begun, 'svc_passkey'));
  expectStatus(await asked.post(settings, { json: { credential, name: 'Proof' } }), 200);
  return device;
}

async function question({ anonymous }: World): Promise<{ browser: Client; asked: RequestAsked }> {
  const answer = await anonymous.post(`${passkey}/options`, { json: {} });
  expectStatus(answer, 200);
  return {
    browser: withCookie(anonymous, cookieIn(answer, 'svc_passkey')),
    asked: jsonOf(answer)['options'] as RequestAsked,
  };
}

const enter = (browser: Client, credential: string): Promise<Answer> =>
  browser.post(passkey, { json: { credential } });

/** The shape tells one refusal from another, apart from the number of its request. */
const shapeOf = ({ status, text }: Answer): string =>
  `${status} ${text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '')}`;

const passkeyRows: readonly Row[] = [
  {
    row: '42 passkeys: the question is the same for everybody, and unknown and wrong ones are refused alike',
    prove: async (world) => {
      const device = await enrolled(await world.newPerson());
      const refusals = new Set<string>();
      for (const manner of [
        { origin: 'https://evil.example' },
        { isVerified: false },
        { rpId: 'evil.example' },
      ]) {
        const { browser, asked } = await question(world);
        expect((asked.allowCredentials ?? []).length === 0, 'no passkey is named at the door');
        refusals.add(shapeOf(await enter(browser, device.get(asked, manner))));
      }
      const stranger = new Authenticator(portalAddress);
      const { browser, asked } = await question(world);
      stranger.create({ challenge: asked.challenge, rp: { id: 'localhost' }, user: { id: 'AAAA' } });
      refusals.add(shapeOf(await enter(browser, stranger.get(asked))));
      const [only = ''] = refusals;
      expect(refusals.size === 1 && only.startsWith('401'), `refused as ${[...refusals].join(' and ')}`);
      return '4 refused alike';
    },
  },
  {
    row: '46 passkeys: a challenge works once, in its browser; a copied key is found out; a new session each time',
    prove: async (world) => {
      const person = await world.newPerson();
      const device = await enrolled(person);
      const { browser, asked } = await question(world);
      const credential = device.get(asked, { count: 7 });
      expectStatus(await enter(world.anonymous, credential), 401, 'invalid_token');
      const entered = await enter(withCookie(browser, `svc_session=${person.session}`), credential);
      expectStatus(entered, 200);
      expect(
        cookieIn(entered, 'svc_session') !== `svc_session=${person.session}`,
        'the session is a new one',
      );
      expectStatus(await person.client.get('/api/legal/status'), 401);
      expectStatus(await enter(browser, credential), 401, 'invalid_token');
      for (const count of [7, 6, 0]) {
        const again = await question(world);
        expectStatus(await enter(again.browser, device.get(again.asked, { count })), 401);
      }
      return 'replayed, moved and copied: refused';
    },
  },
  {
    row: '48 passkeys: none is added without the proof of the account, or with that of another session',
    prove: async (world) => {
      const person = await world.newPerson();
      const device = new Authenticator(portalAddress);
      const begun = await person.client.post(`${settings}/begin`, { json: {} });
      const credential = device.create(jsonOf(begun)['options'] as CreationAsked);
      const other = await world.signIn({ id: person.userId, email: person.email });
      const moved = withCookie(other.client, cookieIn(begun, 'svc_passkey'));
      expectStatus(await moved.post(settings, { json: { credential, name: 'x' } }), 401, 'invalid_token');
      await world.rows("UPDATE session SET created_at = now() - interval '1 hour' WHERE user_id = $1", [
        person.userId,
      ]);
      expectStatus(await person.client.post(`${settings}/begin`, { json: {} }), 401, 'invalid_credentials');
      const held = await world.rows('SELECT 1 FROM passkey WHERE user_id = $1', [person.userId]);
      expect(held.length === 0, 'nothing was added');
      return 'refused';
    },
  },
];

let people = 0;
function someone(facts: Partial<GithubPerson> = {}): GithubPerson {
  people += 1;
  const emails = [{ email: `github-${people}@example.com`, primary: true, verified: true }];
  return { id: 7_000 + people, login: `proof-${people}`, name: 'Proof', emails, ...facts };
}

/** There and back; the browser with its state, and the address it is sent to. */
async function journey(
  { anonymous }: World,
  github: GithubStandIn,
  person = someone(),
): Promise<{ browser: Client; callback: URL }> {
  const terms = await anonymous.post('/auth/accept-tos', { json: { terms: true } });
  const started = await withCookie(anonymous, cookieIn(terms, 'svc_terms')).get('/auth/idp2');
  github.person = person;
  const there = await fetch(started.headers.get('location') ?? '', { redirect: 'manual' });
  return {
    browser: withCookie(anonymous, cookieIn(terms, 'svc_terms'), cookieIn(started, 'svc_provider_state')),
    callback: new URL(there.headers.get('location') ?? portalAddress),
  };
}

async function opensNoSession(browser: Client, { pathname, search }: URL, status = 400): Promise<void> {
  const answer = await browser.get(pathname + search);
  expectStatus(answer, status);
  expect(cookieIn(answer, 'svc_session') === '', 'no session');
}

function changed(callback: URL, name: string, value: string | null): URL {
  const url = new URL(callback);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url;
}

/** Everything that a hostile provider may claim of somebody new. */
const claimRow = (provider: OpenIdStandIn): Row => ({
  row: '48 OpenID Connect: claims of every shape open only what a form would',
  prove: async ({ anonymous }) => {
    const shapes = claimShapes();
    for (const { what, claims, outcome } of shapes) {
      provider.claims = claims;
      const terms = await anonymous.post('/auth/accept-tos', { json: { terms: true } });
      const accepted = withCookie(anonymous, cookieIn(terms, 'svc_terms'));
      const started = await accepted.get('/auth/idp1');
      const browser = withCookie(accepted, cookieIn(started, 'svc_provider_state'));
      const answer = await browser.get(provider.callbackFrom(started.headers.get('location') ?? ''));
      const found = outcomeOf(answer.status, answer.status === 303 ? null : jsonOf(answer)['code']);
      expect(found === outcome, `${what}: ${found}, not ${outcome}`);
    }
    return `${shapes.length} shapes`;
  },
});

export const doorRows = (github: GithubStandIn, provider: OpenIdStandIn): readonly Row[] => [
  ...passkeyRows,
  claimRow(provider),
  {
    row: '47 GitHub: state, PKCE, reused and foreign codes, and the callback of the other provider open nothing',
    prove: async (world) => {
      const { browser, callback } = await journey(world, github);
      await opensNoSession(browser, changed(callback, 'state', null));
      await opensNoSession(browser, changed(callback, 'state', 'A'.repeat(43)));
      await opensNoSession(world.anonymous, callback);
      await opensNoSession(browser, new URL(callback.href.replace('/idp2/', '/idp1/')));
      const [mine, theirs] = [await journey(world, github), await journey(world, github)];
      const code = theirs.callback.searchParams.get('code');
      await opensNoSession(mine.browser, changed(mine.callback, 'code', code));
      const good = await journey(world, github);
      const entered = await good.browser.get(good.callback.pathname + good.callback.search);
      expectStatus(entered, 303);
      expect(cookieIn(entered, 'svc_session') !== '', 'the rightful one is let in');
      await opensNoSession(good.browser, good.callback);
      return '6 refused, 1 let in';
    },
  },
  {
    row: '48 GitHub: an address that has an account, or that is not verified, links and opens nothing',
    prove: async (world) => {
      const { email } = await world.newPerson();
      const same = await journey(
        world,
        github,
        someone({ emails: [{ email, primary: true, verified: true }] }),
      );
      await opensNoSession(same.browser, same.callback, 409);
      const unproven = [{ email: 'unproven@example.com', primary: true, verified: false }];
      const unverified = await journey(world, github, someone({ emails: unproven }));
      await opensNoSession(unverified.browser, unverified.callback, 403);
      return 'refused';
    },
  },
];
