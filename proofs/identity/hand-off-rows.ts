import { createHash, randomUUID } from 'node:crypto';
import type { DnsStandIn } from '../../test/support/dns-stand-in';
import type { OpenIdStandIn } from '../../test/support/openid-stand-in';
import { mailTo, newAddress, password } from '../operations/accounts';
import { expect, expectStatus } from '../operations/http';
import { resellerOrigin, type World } from '../operations/world';
import { portalAddress } from './door-rows';
import { PortalVisitor, type Seen } from './portal-visitor';
import type { Row } from './rows';

const provenHost = 'models.proven.example';
const unprovenHost = 'models.unproven.example';
const proven = `http://${provenHost}`;
const unproven = `http://${unprovenHost}`;
const portals = [resellerOrigin, proven] as const;
/** The attacker keeps this cookie in their own browser at the portal. */
const kept = 'A'.repeat(43);
const binding = createHash('sha256').update(kept).digest('base64url');

interface Victim {
  readonly email: string;
  readonly subject: string;
  readonly userId: number;
}

type Kind = 'member' | 'stranger' | 'nobody' | 'platform_admin' | 'platform_owner';
const kinds: readonly Kind[] = ['member', 'stranger', 'nobody', 'platform_admin', 'platform_owner'];

const organisationOf = (world: World, kind: Kind): number | null =>
  kind === 'stranger' ? world.otherOrganisationId : kind === 'nobody' ? null : world.organisationId;
const roleOf = (kind: Kind) => (kind === 'platform_admin' || kind === 'platform_owner' ? kind : 'user');

/** Both hosts are ours; one of them has its record. */
async function enterHosts(world: World, dns: DnsStandIn): Promise<void> {
  const { client } = await world.person('platform_admin');
  const path = `/dashboard/admin/organisations/${world.organisationId}/domains`;
  for (const host of [provenHost, unprovenHost])
    expectStatus(await client.post(path, { json: { host, name: host } }), 200);
  const [row] = await world.rows<{ value: string }>(
    'SELECT proof_value AS value FROM reseller_domain WHERE host = $1',
    [provenHost],
  );
  dns.say(`_switchboard.${provenHost}`, [`switchboard-verification=${row?.value}`]);
  expectStatus(await client.post(`${path}/check`, { json: { host: provenHost } }), 200);
  for (const origin of [proven, unproven]) await served(new PortalVisitor(world, origin));
}

/** Every node knows a new host within a second. */
async function served(visitor: PortalVisitor): Promise<void> {
  for (let waited = 0; waited < 100; waited += 1) {
    if ((await visitor.get('/login', { accept: 'text/html' })).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the host is not served');
}

/** Somebody whom the provider and the service know. */
async function victim(world: World, provider: OpenIdStandIn, kind: Kind): Promise<Victim> {
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

/** The victim follows a link of the attacker's to BASE_URL, and the provider lets them through without a word. */
async function follow(
  world: World,
  provider: OpenIdStandIn,
  { subject, email }: Victim,
  query: Readonly<Record<string, string>>,
): Promise<{ here: PortalVisitor; answer: Seen }> {
  const here = new PortalVisitor(world, portalAddress);
  const away = await here.get(`/auth/idp1?${new URLSearchParams(query).toString()}`);
  if (away.status !== 302) return { here, answer: away };
  provider.claims = { sub: subject, email, email_verified: true };
  return { here, answer: await here.get(provider.callbackFrom(away.location)) };
}

const stateIn = ({ text }: Seen): string => /name="state" value="([\w-]{43})"/.exec(text)?.[1] ?? '';
const staysHere = ({ location }: Seen): boolean => location === '' || /^\/(?!\/)/.test(location);

/** By one link, at each portal, of people of every kind: nothing leaves BASE_URL. */
async function oneLink(world: World, provider: OpenIdStandIn): Promise<number> {
  let tried = 0;
  for (const portal of portals)
    for (const kind of kinds)
      for (const next of ['/dashboard', '//evil.example', 'https://evil.example', '/\\evil.example']) {
        const person = await victim(world, provider, kind);
        const { here, answer } = await follow(world, provider, person, { portal, binding, next });
        const what = `${kind} at ${portal}`;
        expect(staysHere(answer), `${what} is led to ${answer.location}`);
        expect(!(await here.isIn()), `${what} is signed in`);
        const tokens = await world.rows(
          "SELECT 1 FROM account_token WHERE user_id = $1 AND purpose IN ('handoff', 'sso_handoff')",
          [person.userId],
        );
        expect(tokens.length === 0, `${what}: a token was made without consent`);
        const mayBeAsked =
          kind === 'member' || (portal === resellerOrigin && !roleOf(kind).startsWith('platform'));
        expect(
          mayBeAsked ? answer.location === '/login/hand-off' : answer.status === 403,
          `${what} is answered ${answer.status} ${answer.location}`,
        );
        tried += 1;
      }
  return tried;
}

/** Portals that are none are refused before anybody leaves. */
async function noPortals(world: World, provider: OpenIdStandIn): Promise<number> {
  const person = await victim(world, provider, 'member');
  const wrong = [
    { portal: unproven, binding },
    { portal: 'https://evil.example', binding },
    { portal: `https://${provenHost}`, binding },
    { portal: `${proven}@evil.example`, binding },
    { portal: `${proven}/`, binding },
    { portal: portalAddress, binding },
    { portal: proven },
    { portal: proven, binding: `${binding}A` },
    { portal: proven, binding: '' },
  ];
  for (const query of wrong) {
    const { answer } = await follow(world, provider, person, query as Record<string, string>);
    expect(answer.status === 422, `${JSON.stringify(query)} is answered ${answer.status}`);
  }
  return wrong.length;
}

/** The victim sees the page: nobody else presses its button. */
async function theButton(world: World, provider: OpenIdStandIn): Promise<number> {
  const person = await victim(world, provider, 'member');
  const { here } = await follow(world, provider, person, { portal: proven, binding });
  const page = await here.get('/login/hand-off', { accept: 'text/html' });
  expect(
    page.text.includes(provenHost) && page.text.includes(person.email),
    'the page names host and account',
  );
  const state = stateIn(page);
  const press = (visitor: PortalVisitor, given: string, headers: Record<string, string> = {}) =>
    visitor.post('/auth/sso/hand-off', { state: given }, headers);
  const attacker = new PortalVisitor(world, proven);
  for (const [name, value] of here.cookies) attacker.cookies.set(name, value);
  const refused = [
    await press(here, state, { 'sec-fetch-site': 'cross-site' }),
    await press(here, state, { 'sec-fetch-site': 'same-site', origin: proven }),
    await press(here, state, { origin: proven }),
    await press(here, ''),
    await press(here, 'A'.repeat(43)),
    await press(here, here.cookies.get('svc_handoff_consent') ?? ''),
    await press(new PortalVisitor(world, portalAddress), state),
    await press(attacker, state),
  ];
  for (const { status, text } of refused)
    expect(status === 401 || status === 403, `the button answers ${status}: ${text.slice(0, 100)}`);
  const consent = here.cookies.get('svc_handoff_consent') ?? '';
  expect((await press(here, state)).status === 200, 'the victim may press it');
  here.cookies.set('svc_handoff_consent', consent);
  expect((await press(here, state)).status === 401, 'and once alone');
  return refused.length + 1;
}

/** The victim has agreed, and the attacker runs the portal: they have the token, and the cookie that fits. */
async function theToken(world: World, provider: OpenIdStandIn): Promise<number> {
  let refused = 0;
  for (const portal of portals) {
    const token = async (): Promise<string> => {
      const person = await victim(world, provider, 'member');
      const { here } = await follow(world, provider, person, { portal, binding });
      const state = stateIn(await here.get('/login/hand-off', { accept: 'text/html' }));
      const { text } = await here.post('/auth/sso/hand-off', { state });
      const address = new URL((JSON.parse(text) as { url: string }).url);
      expect(address.origin === portal, `the token goes to ${address.origin}`);
      return address.pathname + address.search;
    };
    const spend = async (origin: string, path: string, cookie: string | null) => {
      const visitor = new PortalVisitor(world, origin);
      if (cookie !== null) visitor.cookies.set('svc_handoff', cookie);
      return { visitor, answer: await visitor.get(path) };
    };
    const elsewhere = [portalAddress, unproven, ...portals].filter((origin) => origin !== portal);
    const wrong = [[portal, null], [portal, 'B'.repeat(43)], ...elsewhere.map((origin) => [origin, kept])];
    for (const [origin = '', cookie = null] of wrong) {
      const { answer, visitor } = await spend(origin ?? '', await token(), cookie);
      expect(answer.status === 401 && !(await visitor.isIn()), `spent at ${origin}: ${answer.status}`);
      refused += 1;
    }
    const path = await token();
    const first = await spend(portal, path, kept);
    expect(first.answer.status === 303 && (await first.visitor.isIn()), 'who agreed is handed over');
    expect((await spend(portal, path, kept)).answer.status === 401, 'a token works once');
    for (const origin of elsewhere) {
      const moved = new PortalVisitor(world, origin);
      moved.cookies.set('svc_session', first.visitor.cookies.get('svc_session') ?? '');
      expect(!(await moved.isIn()), `a session of ${portal} is good at ${origin}`);
      refused += 1;
    }
  }
  return refused;
}

/** The link in the newest mail of this kind leads to this origin. */
const originIn = ({ text }: { readonly text: string }): string =>
  /https?:\/\/[^/\s]+/.exec(text)?.[0] ?? 'nowhere';

async function mailsAskedAt(world: World, origin: string): Promise<number> {
  const visitor = new PortalVisitor(world, origin);
  let read = 0;
  const leads = (mail: { readonly text: string }, wanted: string, what: string): void => {
    const found = originIn(mail);
    expect(found === wanted, `${what}, asked at ${origin}, leads to ${found}`);
    read += 1;
  };
  for (const kind of kinds) {
    const organisationId = organisationOf(world, kind);
    const { email } = await world.newPerson({
      role: roleOf(kind),
      ...(organisationId !== null && { organisationId }),
    });
    const wanted = kind === 'member' ? proven : portalAddress;
    await visitor.post('/auth/forgot-password', { email });
    leads(await mailTo(world, email, /password/i), wanted, `a reset of a ${kind}`);
  }
  const newcomer = newAddress();
  await visitor.post('/auth/register', { email: newcomer, password, terms: true });
  leads(await mailTo(world, newcomer, /Confirm/), portalAddress, 'a registration');
  const { client } = await world.person('platform_admin');
  const invited = newAddress();
  const sent = { json: { email: invited, role: 'user', org_id: world.organisationId } };
  expectStatus(await client.post('/dashboard/admin/users/invite', sent), 200);
  leads(await mailTo(world, invited, /invited/), portalAddress, 'an invitation');
  return read;
}

export const handOffRows = (provider: OpenIdStandIn, dns: DnsStandIn): readonly Row[] => [
  {
    row: 'hand-off with every part of it chosen by the attacker',
    prove: async (world) => {
      await enterHosts(world, dns);
      const links = await oneLink(world, provider);
      const [none, buttons, tokens] = [
        await noPortals(world, provider),
        await theButton(world, provider),
        await theToken(world, provider),
      ];
      return `${links} links lead nowhere else, ${none} portals are none, ${buttons} presses and ${tokens} uses are refused`;
    },
  },
  {
    row: 'mails from every host lead to the own portal of the account',
    prove: async (world) => {
      let read = 0;
      for (const origin of [portalAddress, resellerOrigin, proven, unproven])
        read += await mailsAskedAt(world, origin);
      return `${read} mails`;
    },
  },
];
