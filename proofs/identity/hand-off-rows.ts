import { createHash, randomUUID } from 'node:crypto';
import type { DnsStandIn } from '../../test/support/dns-stand-in';
import type { OpenIdStandIn } from '../../test/support/openid-stand-in';
import { mailTo, newAddress, password } from '../operations/accounts';
import { expect, expectStatus } from '../operations/http';
import { resellerOrigin, type World } from '../operations/world';
import { portalAddress } from './sign-in-rows';
import { HostVisitor, type VisitResponse } from './portal-visitor';
import type { ThreatRow } from './rows';

const provenHost = 'models.proven.example';
const unprovenHost = 'models.unproven.example';
const proven = `http://${provenHost}`;
const unproven = `http://${unprovenHost}`;
const portals = [resellerOrigin, proven] as const;
/** The attacker stores this cookie in their own browser at the portal. */
const bindingCookie = 'A'.repeat(43);
const BINDING = createHash('sha256').update(bindingCookie).digest('base64url');

interface HandOffVictim {
  readonly email: string;
  readonly subject: string;
  readonly userId: number;
}

type VictimKind = 'member' | 'stranger' | 'nobody' | 'platform_admin' | 'platform_owner';
const kinds: readonly VictimKind[] = ['member', 'stranger', 'nobody', 'platform_admin', 'platform_owner'];

const organisationOf = (world: World, kind: VictimKind): number | null =>
  kind === 'stranger' ? world.otherOrganisationId : kind === 'nobody' ? null : world.organisationId;
const roleOf = (kind: VictimKind) => (kind === 'platform_admin' || kind === 'platform_owner' ? kind : 'user');

/** Enters both hosts as own portals; only one of them has its DNS record. */
async function enterHosts(world: World, dns: DnsStandIn): Promise<void> {
  const { client } = await world.person('platform_admin');
  const path = `/dashboard/admin/organisations/${world.organisationId}/domains`;
  for (const host of [provenHost, unprovenHost])
    expectStatus(await client.post(path, { json: { host, name: host } }), 200);
  const [row] = await world.rows<{ value: string }>(
    'SELECT proof_value AS value FROM reseller_domain WHERE host = $1',
    [provenHost],
  );
  dns.setResult(`_switchboard.${provenHost}`, [`switchboard-verification=${row?.value}`]);
  expectStatus(await client.post(`${path}/check`, { json: { host: provenHost } }), 200);
  for (const origin of [proven, unproven]) await waitUntilServed(new HostVisitor(world, origin));
}

/** Every node knows a new host within a second. */
async function waitUntilServed(visitor: HostVisitor): Promise<void> {
  for (let waited = 0; waited < 100; waited += 1) {
    if ((await visitor.get('/login', { accept: 'text/html' })).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the host is not served');
}

/** A user whom the provider and the service know. */
async function createVictim(world: World, provider: OpenIdStandIn, kind: VictimKind): Promise<HandOffVictim> {
  const subject = randomUUID();
  const organisationId = organisationOf(world, kind);
  const { userId, email } = await world.newPerson({
    role: roleOf(kind),
    ...(organisationId !== null && { organisationId }),
  });
  await world.rows('INSERT INTO linked_identity (issuer, subject, user_id, email) VALUES ($1, $2, $3, $4)', [
    provider.url,
    subject,
    userId,
    email,
  ]);
  return { email, subject, userId };
}

/** The victim follows the attacker's link to BASE_URL, and the provider lets them through without a prompt. */
async function followLink(
  world: World,
  provider: OpenIdStandIn,
  { subject, email }: HandOffVictim,
  query: Readonly<Record<string, string>>,
): Promise<{ here: HostVisitor; answer: VisitResponse }> {
  const visitor = new HostVisitor(world, portalAddress);
  const providerRedirect = await visitor.get(`/auth/idp1?${new URLSearchParams(query).toString()}`);
  if (providerRedirect.status !== 302) return { here: visitor, answer: providerRedirect };
  provider.claims = { sub: subject, email, email_verified: true };
  return { here: visitor, answer: await visitor.get(provider.callbackFrom(providerRedirect.location)) };
}

const stateIn = ({ text }: VisitResponse): string => /name="state" value="([\w-]{43})"/.exec(text)?.[1] ?? '';
const staysOnSite = ({ location }: VisitResponse): boolean => location === '' || /^\/(?!\/)/.test(location);

/** Tries one link at each portal with users of every kind: no session leaves BASE_URL. */
async function proveSingleLink(world: World, provider: OpenIdStandIn): Promise<number> {
  let attemptCount = 0;
  for (const portal of portals)
    for (const kind of kinds)
      for (const next of ['/dashboard', '//evil.example', 'https://evil.example', '/\\evil.example']) {
        const person = await createVictim(world, provider, kind);
        const { here, answer } = await followLink(world, provider, person, {
          portal,
          binding: BINDING,
          next,
        });
        const what = `${kind} at ${portal}`;
        expect(staysOnSite(answer), `${what} is led to ${answer.location}`);
        expect(!(await here.isSignedIn()), `${what} is signed in`);
        const tokens = await world.rows(
          "SELECT 1 FROM account_token WHERE user_id = $1 AND purpose IN ('handoff', 'sso_handoff')",
          [person.userId],
        );
        expect(tokens.length === 0, `${what}: a token was made without consent`);
        const canSeeConsent =
          kind === 'member' || (portal === resellerOrigin && !roleOf(kind).startsWith('platform'));
        expect(
          canSeeConsent ? answer.location === '/login/hand-off' : answer.status === 403,
          `${what} is answered ${answer.status} ${answer.location}`,
        );
        attemptCount += 1;
      }
  return attemptCount;
}

/** Hosts that are not portals are rejected before the browser leaves. */
async function proveUnknownPortals(world: World, provider: OpenIdStandIn): Promise<number> {
  const person = await createVictim(world, provider, 'member');
  const invalidQueries = [
    { portal: unproven, binding: BINDING },
    { portal: 'https://evil.example', binding: BINDING },
    { portal: `https://${provenHost}`, binding: BINDING },
    { portal: `${proven}@evil.example`, binding: BINDING },
    { portal: `${proven}/`, binding: BINDING },
    { portal: portalAddress, binding: BINDING },
    { portal: proven },
    { portal: proven, binding: `${BINDING}A` },
    { portal: proven, binding: '' },
  ];
  for (const query of invalidQueries) {
    const { answer } = await followLink(world, provider, person, query as Record<string, string>);
    expect(answer.status === 422, `${JSON.stringify(query)} is answered ${answer.status}`);
  }
  return invalidQueries.length;
}

/** The consent page is shown to the victim, and only the victim can press its button. */
async function proveConsentButton(world: World, provider: OpenIdStandIn): Promise<number> {
  const person = await createVictim(world, provider, 'member');
  const { here } = await followLink(world, provider, person, { portal: proven, binding: BINDING });
  const page = await here.get('/login/hand-off', { accept: 'text/html' });
  expect(
    page.text.includes(provenHost) && page.text.includes(person.email),
    'the page names host and account',
  );
  const state = stateIn(page);
  const press = (visitor: HostVisitor, submittedState: string, headers: Record<string, string> = {}) =>
    visitor.post('/auth/sso/hand-off', { state: submittedState }, headers);
  const attacker = new HostVisitor(world, proven);
  for (const [name, value] of here.cookies) attacker.cookies.set(name, value);
  const rejections = [
    await press(here, state, { 'sec-fetch-site': 'cross-site' }),
    await press(here, state, { 'sec-fetch-site': 'same-site', origin: proven }),
    await press(here, state, { origin: proven }),
    await press(here, ''),
    await press(here, 'A'.repeat(43)),
    await press(here, here.cookies.get('svc_handoff_consent') ?? ''),
    await press(new HostVisitor(world, portalAddress), state),
    await press(attacker, state),
  ];
  for (const { status, text } of rejections)
    expect(status === 401 || status === 403, `the button answers ${status}: ${text.slice(0, 100)}`);
  const consent = here.cookies.get('svc_handoff_consent') ?? '';
  expect((await press(here, state)).status === 200, 'the victim may press it');
  here.cookies.set('svc_handoff_consent', consent);
  expect((await press(here, state)).status === 401, 'and once alone');
  return rejections.length + 1;
}

/** The victim has agreed, and the attacker, who runs the portal, has the token and the matching cookie. */
async function proveTokenBinding(world: World, provider: OpenIdStandIn): Promise<number> {
  let rejectedCount = 0;
  for (const portal of portals) {
    const token = async (): Promise<string> => {
      const person = await createVictim(world, provider, 'member');
      const { here } = await followLink(world, provider, person, { portal, binding: BINDING });
      const state = stateIn(await here.get('/login/hand-off', { accept: 'text/html' }));
      const { text } = await here.post('/auth/sso/hand-off', { state });
      const address = new URL((JSON.parse(text) as { url: string }).url);
      expect(address.origin === portal, `the token goes to ${address.origin}`);
      return address.pathname + address.search;
    };
    const redeemToken = async (origin: string, path: string, cookie: string | null) => {
      const visitor = new HostVisitor(world, origin);
      if (cookie !== null) visitor.cookies.set('svc_handoff', cookie);
      return { visitor, answer: await visitor.get(path) };
    };
    const otherOrigins = [portalAddress, unproven, ...portals].filter((origin) => origin !== portal);
    const invalidAttempts = [
      [portal, null],
      [portal, 'B'.repeat(43)],
      ...otherOrigins.map((origin) => [origin, bindingCookie]),
    ];
    for (const [origin = '', cookie = null] of invalidAttempts) {
      const { answer, visitor } = await redeemToken(origin ?? '', await token(), cookie);
      expect(answer.status === 401 && !(await visitor.isSignedIn()), `spent at ${origin}: ${answer.status}`);
      rejectedCount += 1;
    }
    const path = await token();
    const firstResponse = await redeemToken(portal, path, bindingCookie);
    expect(
      firstResponse.answer.status === 303 && (await firstResponse.visitor.isSignedIn()),
      'who agreed is handed over',
    );
    expect((await redeemToken(portal, path, bindingCookie)).answer.status === 401, 'a token works once');
    for (const origin of otherOrigins) {
      const otherVisitor = new HostVisitor(world, origin);
      otherVisitor.cookies.set('svc_session', firstResponse.visitor.cookies.get('svc_session') ?? '');
      expect(!(await otherVisitor.isSignedIn()), `a session of ${portal} is good at ${origin}`);
      rejectedCount += 1;
    }
  }
  return rejectedCount;
}

/** Returns the origin of the link in this mail. */
const originIn = ({ text }: { readonly text: string }): string =>
  /https?:\/\/[^/\s]+/.exec(text)?.[0] ?? 'nowhere';

async function proveMailLinks(world: World, origin: string): Promise<number> {
  const visitor = new HostVisitor(world, origin);
  let mailCount = 0;
  const expectOrigin = (mail: { readonly text: string }, expectedOrigin: string, what: string): void => {
    const linkOrigin = originIn(mail);
    expect(linkOrigin === expectedOrigin, `${what}, asked at ${origin}, leads to ${linkOrigin}`);
    mailCount += 1;
  };
  for (const kind of kinds) {
    const organisationId = organisationOf(world, kind);
    const { email } = await world.newPerson({
      role: roleOf(kind),
      ...(organisationId !== null && { organisationId }),
    });
    const expectedOrigin = kind === 'member' ? proven : portalAddress;
    await visitor.post('/auth/forgot-password', { email });
    expectOrigin(await mailTo(world, email, /password/i), expectedOrigin, `a reset of a ${kind}`);
  }
  const newcomer = newAddress();
  await visitor.post('/auth/register', { email: newcomer, password, terms: true });
  expectOrigin(await mailTo(world, newcomer, /Confirm/), portalAddress, 'a registration');
  const { client } = await world.person('platform_admin');
  const invitedEmail = newAddress();
  const inviteOptions = { json: { email: invitedEmail, role: 'user', org_id: world.organisationId } };
  expectStatus(await client.post('/dashboard/admin/users/invite', inviteOptions), 200);
  expectOrigin(await mailTo(world, invitedEmail, /invited/), portalAddress, 'an invitation');
  return mailCount;
}

export const handOffRows = (provider: OpenIdStandIn, dns: DnsStandIn): readonly ThreatRow[] => [
  {
    row: 'hand-off with every part of it chosen by the attacker',
    prove: async (world) => {
      await enterHosts(world, dns);
      const links = await proveSingleLink(world, provider);
      const [none, buttons, tokens] = [
        await proveUnknownPortals(world, provider),
        await proveConsentButton(world, provider),
        await proveTokenBinding(world, provider),
      ];
      return `${links} links lead nowhere else, ${none} portals are none, ${buttons} presses and ${tokens} uses are refused`;
    },
  },
  {
    row: 'mails from every host lead to the own portal of the account',
    prove: async (world) => {
      let mailCount = 0;
      for (const origin of [portalAddress, resellerOrigin, proven, unproven])
        mailCount += await proveMailLinks(world, origin);
      return `${mailCount} mails`;
    },
  },
];
