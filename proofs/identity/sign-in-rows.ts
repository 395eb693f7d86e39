import {
  Authenticator,
  type CreationCeremonyOptions,
  type RequestCeremonyOptions,
} from '../../test/support/authenticator';
import { createClaimShapes, outcomeOf } from '../../test/support/claim-shapes';
import { openIdClient, type OpenIdStandIn } from '../../test/support/openid-stand-in';
import { githubClient, type GithubUser, type GithubStandIn } from '../../test/support/github-stand-in';
import { type ReadResponse, type Client, expect, expectStatus, jsonOf } from '../operations/http';
import type { PortalUser, World } from '../operations/world';
import type { ThreatRow } from './rows';

/** Configured public address; requests go to the actual port. */
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

function cookieIn(answer: ReadResponse, name: string): string {
  const line = answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? '';
  return line.split(';')[0] ?? '';
}

const withCookie = (client: Client, ...cookies: string[]): Client =>
  client.with({ cookie: [client.headers['cookie'], ...cookies].filter(Boolean).join('; ') });

async function enrolPasskey({ client }: PortalUser): Promise<Authenticator> {
  const device = new Authenticator(portalAddress);
  const beginResponse = await client.post(`${settings}/begin`, { json: {} });
  expectStatus(beginResponse, 200);
  const credential = device.create(jsonOf(beginResponse)['options'] as CreationCeremonyOptions);
  const enrolClient = withCookie(client, cookieIn(beginResponse, 'svc_passkey'));
  expectStatus(await enrolClient.post(settings, { json: { credential, name: 'Proof' } }), 200);
  return device;
}

async function requestChallenge({
  anonymous,
}: World): Promise<{ browser: Client; asked: RequestCeremonyOptions }> {
  const answer = await anonymous.post(`${passkey}/options`, { json: {} });
  expectStatus(answer, 200);
  return {
    browser: withCookie(anonymous, cookieIn(answer, 'svc_passkey')),
    asked: jsonOf(answer)['options'] as RequestCeremonyOptions,
  };
}

const finishSignIn = (browser: Client, credential: string): Promise<ReadResponse> =>
  browser.post(passkey, { json: { credential } });

/** The shape distinguishes rejections, except for the number of the request. */
const shapeOf = ({ status, text }: ReadResponse): string =>
  `${status} ${text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '')}`;

const passkeyRows: readonly ThreatRow[] = [
  {
    row: '42 passkeys: the question is the same for everybody, and unknown and wrong ones are refused alike',
    prove: async (world) => {
      const device = await enrolPasskey(await world.newPerson());
      const refusals = new Set<string>();
      for (const manner of [
        { origin: 'https://evil.example' },
        { isVerified: false },
        { rpId: 'evil.example' },
      ]) {
        const { browser, asked } = await requestChallenge(world);
        expect((asked.allowCredentials ?? []).length === 0, 'no passkey is named at the door');
        refusals.add(shapeOf(await finishSignIn(browser, device.get(asked, manner))));
      }
      const stranger = new Authenticator(portalAddress);
      const { browser, asked } = await requestChallenge(world);
      stranger.create({ challenge: asked.challenge, rp: { id: 'localhost' }, user: { id: 'AAAA' } });
      refusals.add(shapeOf(await finishSignIn(browser, stranger.get(asked))));
      const [only = ''] = refusals;
      expect(refusals.size === 1 && only.startsWith('401'), `refused as ${[...refusals].join(' and ')}`);
      return '4 refused alike';
    },
  },
  {
    row: '46 passkeys: a challenge works once, in its browser; a copied key is found out; a new session each time',
    prove: async (world) => {
      const person = await world.newPerson();
      const device = await enrolPasskey(person);
      const { browser, asked } = await requestChallenge(world);
      const credential = device.get(asked, { count: 7 });
      expectStatus(await finishSignIn(world.anonymous, credential), 401, 'invalid_token');
      const signInResponse = await finishSignIn(
        withCookie(browser, `svc_session=${person.session}`),
        credential,
      );
      expectStatus(signInResponse, 200);
      expect(
        cookieIn(signInResponse, 'svc_session') !== `svc_session=${person.session}`,
        'the session is a new one',
      );
      expectStatus(await person.client.get('/api/legal/status'), 401);
      expectStatus(await finishSignIn(browser, credential), 401, 'invalid_token');
      for (const count of [7, 6, 0]) {
        const secondChallenge = await requestChallenge(world);
        expectStatus(
          await finishSignIn(secondChallenge.browser, device.get(secondChallenge.asked, { count })),
          401,
        );
      }
      return 'replayed, moved and copied: refused';
    },
  },
  {
    row: '48 passkeys: none is added without the proof of the account, or with that of another session',
    prove: async (world) => {
      const person = await world.newPerson();
      const device = new Authenticator(portalAddress);
      const beginResponse = await person.client.post(`${settings}/begin`, { json: {} });
      const credential = device.create(jsonOf(beginResponse)['options'] as CreationCeremonyOptions);
      const other = await world.signIn({ id: person.userId, email: person.email });
      const otherBrowser = withCookie(other.client, cookieIn(beginResponse, 'svc_passkey'));
      expectStatus(
        await otherBrowser.post(settings, { json: { credential, name: 'x' } }),
        401,
        'invalid_token',
      );
      await world.rows("UPDATE session SET created_at = now() - interval '1 hour' WHERE user_id = $1", [
        person.userId,
      ]);
      expectStatus(await person.client.post(`${settings}/begin`, { json: {} }), 401, 'invalid_credentials');
      const passkeys = await world.rows('SELECT 1 FROM passkey WHERE user_id = $1', [person.userId]);
      expect(passkeys.length === 0, 'nothing was added');
      return 'refused';
    },
  },
];

let personCount = 0;
function newGithubPerson(attributes: Partial<GithubUser> = {}): GithubUser {
  personCount += 1;
  const emails = [{ email: `github-${personCount}@example.com`, primary: true, verified: true }];
  return { id: 7_000 + personCount, login: `proof-${personCount}`, name: 'Proof', emails, ...attributes };
}

/** Goes to the provider and back; returns the browser with its state and its callback URL. */
async function visitProvider(
  { anonymous }: World,
  github: GithubStandIn,
  person = newGithubPerson(),
): Promise<{ browser: Client; callback: URL }> {
  const terms = await anonymous.post('/auth/accept-tos', { json: { terms: true } });
  const started = await withCookie(anonymous, cookieIn(terms, 'svc_terms')).get('/auth/idp2');
  github.signedInUser = person;
  const providerResponse = await fetch(started.headers.get('location') ?? '', { redirect: 'manual' });
  return {
    browser: withCookie(anonymous, cookieIn(terms, 'svc_terms'), cookieIn(started, 'svc_provider_state')),
    callback: new URL(providerResponse.headers.get('location') ?? portalAddress),
  };
}

async function expectNoSession(browser: Client, { pathname, search }: URL, status = 400): Promise<void> {
  const answer = await browser.get(pathname + search);
  expectStatus(answer, status);
  expect(cookieIn(answer, 'svc_session') === '', 'no session');
}

function withParameter(callback: URL, name: string, value: string | null): URL {
  const url = new URL(callback);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url;
}

/** Every claim that a hostile provider can make about a new user. */
const claimRow = (provider: OpenIdStandIn): ThreatRow => ({
  row: '48 OpenID Connect: claims of every shape open only what a form would',
  prove: async ({ anonymous }) => {
    const shapes = createClaimShapes();
    for (const { what, claims, outcome } of shapes) {
      provider.claims = claims;
      const terms = await anonymous.post('/auth/accept-tos', { json: { terms: true } });
      const acceptedClient = withCookie(anonymous, cookieIn(terms, 'svc_terms'));
      const started = await acceptedClient.get('/auth/idp1');
      const browser = withCookie(acceptedClient, cookieIn(started, 'svc_provider_state'));
      const answer = await browser.get(provider.callbackFrom(started.headers.get('location') ?? ''));
      const actualOutcome = outcomeOf(answer.status, answer.status === 303 ? null : jsonOf(answer)['code']);
      expect(actualOutcome === outcome, `${what}: ${actualOutcome}, not ${outcome}`);
    }
    return `${shapes.length} shapes`;
  },
});

export const signInRows = (github: GithubStandIn, provider: OpenIdStandIn): readonly ThreatRow[] => [
  ...passkeyRows,
  claimRow(provider),
  {
    row: '47 GitHub: state, PKCE, reused and foreign codes, and the callback of the other provider open nothing',
    prove: async (world) => {
      const { browser, callback } = await visitProvider(world, github);
      await expectNoSession(browser, withParameter(callback, 'state', null));
      await expectNoSession(browser, withParameter(callback, 'state', 'A'.repeat(43)));
      await expectNoSession(world.anonymous, callback);
      await expectNoSession(browser, new URL(callback.href.replace('/idp2/', '/idp1/')));
      const [mine, theirs] = [await visitProvider(world, github), await visitProvider(world, github)];
      const code = theirs.callback.searchParams.get('code');
      await expectNoSession(mine.browser, withParameter(mine.callback, 'code', code));
      const goodVisit = await visitProvider(world, github);
      const signInResponse = await goodVisit.browser.get(
        goodVisit.callback.pathname + goodVisit.callback.search,
      );
      expectStatus(signInResponse, 303);
      expect(cookieIn(signInResponse, 'svc_session') !== '', 'the rightful one is let in');
      await expectNoSession(goodVisit.browser, goodVisit.callback);
      return '6 refused, 1 let in';
    },
  },
  {
    row: '48 GitHub: an address that has an account, or that is not verified, links and opens nothing',
    prove: async (world) => {
      const { email } = await world.newPerson();
      const repeatedVisit = await visitProvider(
        world,
        github,
        newGithubPerson({ emails: [{ email, primary: true, verified: true }] }),
      );
      await expectNoSession(repeatedVisit.browser, repeatedVisit.callback, 409);
      const unverifiedEmails = [{ email: 'unproven@example.com', primary: true, verified: false }];
      const unverifiedVisit = await visitProvider(
        world,
        github,
        newGithubPerson({ emails: unverifiedEmails }),
      );
      await expectNoSession(unverifiedVisit.browser, unverifiedVisit.callback, 403);
      return 'refused';
    },
  },
];
