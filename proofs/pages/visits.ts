import {
  mailTo,
  registerConfirmedUser,
  cookiesOf,
  newAddress,
  password,
  signInByPassword,
} from '../operations/accounts';
import { expectStatus, jsonOf } from '../operations/http';
import { resellerOrigin, type World } from '../operations/world';
import { servedPages } from '../../test/system/routes';
import { createFailedAlert, createQuarantine } from './operator-fixtures';
import { enableTwoFactor } from './second-factor';
import type { DemoRole, DemoSite } from './demo-site';

/** A page as seen by one user. */
export interface PageVisit {
  /** Path of the route as registered. */
  readonly route: string;
  readonly path: string;
  readonly as: DemoRole;
  readonly status?: number;
  readonly cookies?: Readonly<Record<string, string>>;
}

const admin = '/dashboard/admin';
const token = 'A'.repeat(43);

const visit = (as: DemoRole, route: string, more = ''): PageVisit => ({ as, route, path: route + more });

/** Every page of the product, and the states in which a page looks different. */
export async function visitsOf({ world, people }: DemoSite): Promise<PageVisit[]> {
  return [
    ...publicPages(),
    ...developmentPages(world),
    ...(await accountPages(world)),
    ...(await dashboardPages(world, people)),
    ...(await administrationPages(world, people)),
    ...(await extensionPages(world)),
    { ...visit('anonymous', '/absent'), status: 404 },
    { ...visit('developer', '/dashboard/absent'), status: 404 },
    { ...visit('developer', `${admin}/users`), status: 403 },
  ];
}

/** Extension pages without those of single objects. */
async function extensionPages({ url }: World): Promise<PageVisit[]> {
  const pages = (await servedPages(url)).filter((page) => page.startsWith('/x/') && !page.includes('{'));
  return pages.flatMap((page) => [visit('owner', page), visit('operator', page)]);
}

/** The startup log prints the token that opens them. */
function developmentPages({ gateway }: World): PageVisit[] {
  const [, token = ''] = /\/dev\/outbox\?token=(\S+)/.exec(gateway.node.program.text) ?? [];
  const cookies = { svc_development: token };
  return ['/dev/components', '/dev/outbox'].map((path) => ({ ...visit('anonymous', path), cookies }));
}

const publicPages = (): PageVisit[] => [
  ...[
    ...['/', '/features', '/security', '/controls', '/certifications', '/developers', '/guide', '/pricing'],
    ...['/api-docs', '/api-docs/errors', '/api-docs/try', '/models-public'],
    ...['aup', 'billing', 'cookies', 'dpa', 'privacy', 'refund', 'security', 'terms'].map(
      (name) => `/legal/${name}`,
    ),
  ].map((path) => visit('anonymous', path)),
  visit('anonymous', '/pricing', '?amount=75'),
  visit('anonymous', '/models-public', '?q=absent'),
  ...['api', 'keys', 'clients', 'prices'].map((name) => ({
    ...visit('anonymous', '/developers/{name}'),
    path: `/developers/${name}`,
  })),
];

async function accountPages(world: World): Promise<PageVisit[]> {
  const pendingCookies = await halfSignedIn(world);
  const inactiveVisit = async (status: 'archived' | 'suspended'): Promise<PageVisit> => {
    const { session } = await world.newPerson({ status });
    return { ...visit('anonymous', `/account/${status}`), cookies: { svc_session: session } };
  };
  const email = 'invited@example.com';
  const owner = await world.person('org_owner');
  const invitation = { json: { email, role: 'user' } };
  expectStatus(await owner.client.post(`${admin}/users/invite`, invitation), 200);
  const invite = /\/invite\/([\w-]+)/.exec((await mailTo(world, email, /./)).text)?.[1] ?? '';
  return [
    ...['/login', '/signup', '/forgot-password', '/verify-email', '/reset-password', '/sign-in-link'].map(
      (path) => visit('anonymous', path),
    ),
    visit('anonymous', '/login', '?notice=address-changed'),
    visit('anonymous', '/reset-password', `?token=${token}`),
    visit('anonymous', '/verify-email', `?token=${token}`),
    visit('anonymous', '/account/email', `?token=${token}`),
    visit('anonymous', '/account/email/undo', `?token=${token}`),
    { ...visit('anonymous', '/invite/{token}'), path: `/invite/${invite}` },
    { ...visit('developer', '/invite/{token}'), path: `/invite/${invite}` },
    { ...visit('anonymous', '/login/second-factor'), cookies: pendingCookies },
    { ...visit('anonymous', '/login/hand-off'), cookies: await awaitingConsent(world) },
    { ...visit('anonymous', '/login/hand-off'), status: 401 },
    await inactiveVisit('archived'),
    await inactiveVisit('suspended'),
  ];
}

/** Cookie of a user who has entered the password but not yet the code. */
async function halfSignedIn(world: World): Promise<Record<string, string>> {
  const email = await registerConfirmedUser(world);
  await enableTwoFactor(await signInByPassword(world, email), password);
  const answer = await world.anonymous.post('/auth/login', { json: { email, password } });
  const [pair = ''] = cookiesOf(answer).split('; ');
  const [name = '', value = ''] = pair.split('=');
  return { [name]: value };
}

/** Cookie of a user recognised by the provider who started at another portal address. */
async function awaitingConsent(world: World): Promise<Record<string, string>> {
  const terms = cookiesOf(await world.anonymous.post('/auth/accept-tos', { json: { terms: true } }));
  const query = new URLSearchParams({ portal: resellerOrigin, binding: token });
  const options = { headers: { cookie: terms } };
  const redirect = await world.anonymous.get(`/auth/idp1?${query.toString()}`, options);
  const email = newAddress();
  const location = redirect.headers.get('location') ?? '';
  const back = world.provider.recognise(location, { subject: email, email }).toString();
  const headers = { cookie: `${terms}; ${cookiesOf(redirect)}` };
  const answer = await world.anonymous.get(`/oauth/idp1/login/callback/?${back}`, { headers });
  const cookiePair = cookiesOf(answer)
    .split('; ')
    .find((each) => each.startsWith('svc_handoff_consent='));
  return { svc_handoff_consent: cookiePair?.split('=')[1] ?? '' };
}

async function dashboardPages(world: World, people: DemoSite['people']): Promise<PageVisit[]> {
  const own = (path: string, more = ''): PageVisit => visit('developer', `/dashboard${path}`, more);
  const [key] = await world.rows<{ id: number }>(`SELECT id FROM api_key WHERE name = 'forecast-api'`);
  const keyId = key?.id ?? 0;
  const [conversation] = await world.rows<{ id: number }>(
    'SELECT id FROM conversation WHERE user_id = $1 ORDER BY id DESC LIMIT 1',
    [people.developer.userId],
  );
  const [payment] = await world.rows<{ public_id: string }>(
    'SELECT public_id FROM payment WHERE wallet_id = $1 ORDER BY id LIMIT 1',
    [people.payer.userId],
  );
  return [
    own(''),
    visit('newcomer', '/dashboard'),
    visit('newcomer', '/dashboard/first-request'),
    ...['/keys', '/keys/new', '/models', '/usage', '/request-log', '/activity', '/guide'].map((path) =>
      own(path),
    ),
    visit('newcomer', '/dashboard/keys'),
    visit('newcomer', '/dashboard/usage'),
    visit('newcomer', '/dashboard/request-log'),
    own('/jump', '?q=zzz'),
    own('/usage', '?measure=latency&group_by=model'),
    own('/usage', '?measure=tokens&group_by=region&days=90'),
    own('/request-log', '?model=absent'),
    ...['/autorouter', '/qualitative', '/settings', '/settings/notices', '/settings/second-factor'].map(
      (path) => own(path),
    ),
    visit('owner', '/dashboard/qualitative/settings'),
    { ...visit('developer', '/dashboard/keys/{key_id}'), path: `/dashboard/keys/${keyId}` },
    ...['/autorouter', '/qualitative'].flatMap((path) =>
      (['owner', 'newcomer'] as const).map((as) => visit(as, `/dashboard${path}`)),
    ),
    own('/autorouter', '?days=7'),
    own('/qualitative', '?verdict=judge_error'),
    own('/webchat'),
    own('/webchat', '?q=absent'),
    visit('newcomer', '/dashboard/webchat'),
    { ...own('/webchat/{conv_id}'), path: `/dashboard/webchat/${conversation?.id}` },
    ...['', '/payments', '/ledger', '/statements'].map((path) => visit('payer', `/dashboard/billing${path}`)),
    visit('payer', '/dashboard/billing', '?amount=3'),
    visit('payer', '/dashboard/billing/return', `?payment=${payment?.public_id}`),
    visit('payer', '/dashboard'),
  ];
}

async function administrationPages(world: World, people: DemoSite['people']): Promise<PageVisit[]> {
  const [place] = await world.rows<{ org: number; project: number; conversation: number; provider: number }>(
    `SELECT o.id AS org, min(p.id) AS project,
            (SELECT max(id) FROM conversation) AS conversation, (SELECT min(id) FROM provider) AS provider
       FROM organisation o JOIN project p ON p.organisation_id = o.id
      WHERE o.slug LIKE 'demo-%' GROUP BY o.id`,
  );
  const at = (route: string, id: number | undefined): PageVisit => ({
    ...visit('operator', route),
    path: route.replace(/\{\w+\}/, String(id)),
  });
  const promotion = { name: 'Welcome', scope: 'user', user_id: people.developer.userId, amount: '5' };
  expectStatus(await people.operator.client.post(`${admin}/promotions`, { json: promotion }), 200);
  const domain = { host: 'models.of-a-reseller-with-a-long-name.example', name: 'Reseller' };
  const domains = `${admin}/organisations/${place?.org}/domains`;
  expectStatus(await people.operator.client.post(domains, { json: domain }), 200);
  await createQuarantine(world);
  return [
    visit('operator', admin),
    visit('owner', admin),
    ...[
      '/alerts',
      '/alerts/channels',
      '/alerts/rules',
      '/audit',
      '/billing',
      '/conversations',
      '/extensions',
      '/extensions/taps',
      '/models',
      '/models/new',
      '/providers/new',
    ].map((path) => visit('operator', admin + path)),
    ...['access', 'import'].map((page) => visit('operator', `${admin}/models/${page}`)),
    { ...visit('operator', `${admin}/models/import/{draft_id}`), path: await createImport(people) },
    visit('owner', `${admin}/models/access`),
    visit('operator', `${admin}/billing`, '?reconcile=30'),
    ...['providers', 'prices', 'aliases'].map((tab) => visit('operator', `${admin}/models`, `?tab=${tab}`)),
    visit('owner', `${admin}/models`),
    visit('operator', `${admin}/models/edit`, '?model=sim-large'),
    visit('operator', `${admin}/providers/edit`, `?id=${place?.provider}`),
    ...['/organisations', '/organisations/new', '/organisations/merge', '/departments'].map((path) =>
      visit('operator', admin + path),
    ),
    visit(
      'operator',
      `${admin}/organisations/merge`,
      `?target_org_id=${world.otherOrganisationId}&source_org_ids=${world.organisationId}`,
    ),
    ...['', '/domains', '/markup'].map((part) => at(`${admin}/organisations/{org_id}${part}`, place?.org)),
    ...['/projects', '/projects/new', '/promotions', '/users', '/users/invite', '/users/invites'].map(
      (path) => visit('operator', admin + path),
    ),
    visit('owner', `${admin}/departments`),
    at(`${admin}/projects/{project_id}`, place?.project),
    at(`${admin}/users/{user_id}`, people.developer.userId),
    at(`${admin}/conversations/{conv_id}`, place?.conversation),
    {
      ...visit('operator', `${admin}/alerts/{alert_id}`),
      path: await createFailedAlert(world, people.operator),
    },
    visit('operator', `${admin}/quarantine`),
  ];
}

/** Path of a prepared import with a new model and a changed one. */
async function createImport({ operator }: DemoSite['people']): Promise<string> {
  const content = `
version: 1
providers: { north: { style: openai-style, base_url: 'https://north.example/v1' } }
models: { north-one: { lanes: [{ provider: north, model: one, region: eu }], price: { input: 1, output: 2 } } }
`;
  const importResponse = await operator.client.post(`${admin}/models/import`, {
    json: { format: 'gateway-yaml', content },
  });
  expectStatus(importResponse, 200);
  return `${admin}/models/import/${String(jsonOf(importResponse)['draft_id'])}`;
}
