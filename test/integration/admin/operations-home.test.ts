import { IncidentLog } from '#inside/admin/observability/incidents/incident-log';
import { IncidentWatch } from '#inside/admin/observability/incidents/incident-watch';
import { CatalogueEditor, CatalogueService, type LaneView } from '#product/catalogue';
import { Organisation, UserAccount } from '#product/identity';
import { fault, monotonicMs, type UserRole } from '#product/kernel';
import { LaneHealth } from '#product/routing';
import { UNKNOWN_FACTS } from '#product/vendors';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let platformCookie: string;

const signInAs = async (role: UserRole, organisationId: number | null = null) => {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return signIn(app, userId);
};
const data = async (cookie: string, query = '') => {
  const path = `/dashboard/admin/api/dashboard${query}`;
  const { status, body } = await sendRaw(app.url, { path, headers: { cookie, accept: 'application/json' } });
  return { status, json: JSON.parse(body) as Record<string, unknown> };
};
const page = async (cookie: string, headers: Record<string, string> = {}) =>
  (await sendRaw(app.url, { path: '/dashboard/admin', headers: { cookie, accept: 'text/html', ...headers } }))
    .body;
const record = (organisationId: number | null, model: string, status: number, count: number) =>
  app.database.query(
    `INSERT INTO request_record (request_id, created_at, organisation_id, surface, model, served_model, supplier,
       usage_source, cost_nano, status, code, stream, failover, latency_ms, calls)
     SELECT gen_random_uuid(), now(), $1, 'chat', $2, $2, 'north', 'reported', 1000000, $3::smallint,
            CASE WHEN $3 >= 400 THEN 'backend_error' END, false, $3 < 400, 100, 1
       FROM generate_series(1, $4)`,
    [organisationId, model, status, count],
  );
const rows = () =>
  app.database.query<{ kind: string; subject: string; cause: string; over: boolean }>(
    `SELECT kind, concat_ws(' ', provider, nullif(model, ''), nullif(credential, '')) AS subject, cause,
            ended_at IS NOT NULL AS over FROM incident ORDER BY id`,
  );
const lane = (name: string): LaneView => ({
  id: 1,
  provider: {
    id: 1,
    name,
    style: 'openai-style',
    baseUrl: 'https://north.example',
    regions: ['eu'],
    visible: true,
    settings: {},
    timeouts: {},
    breaker: {},
  },
  upstreamModel: 'big',
  region: 'eu',
  priority: 0,
  weight: 1,
  retries: 0,
  facts: UNKNOWN_FACTS,
  wire: null,
});
const failed = { status: 500, isCallerMayBeCause: false, owner: 'key 1', milliseconds: 1 };

/** Opens the circuit breaker of a lane through failing calls; returns a function that closes it. */
function openLane(name: string): () => void {
  const health = app.application.get(LaneHealth, { strict: false });
  const watchedLane = lane(name);
  for (let attempt = 0; attempt < 5; attempt += 1)
    health
      .acquire(watchedLane, 1, monotonicMs())
      ?.failed(monotonicMs(), { ...failed, problem: fault('backend_error') });
  return () => health.acquireAsLast(watchedLane, 1, monotonicMs() + 1_000)?.responseStarted(monotonicMs());
}

let ownOrganisation: number;
let watch: IncidentWatch;

beforeAll(async () => {
  app = await startTestApp();
  watch = app.application.get(IncidentWatch, { strict: false });
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: 'Ours', slug: 'ours' });
  await organisations.insert(organisation);
  ownOrganisation = organisation.id;
  platformCookie = await signInAs('platform_admin');
  const style = 'openai-style';
  const settings = { profile: 'vllm' };
  await app.database.transaction(async (tx) => {
    const editor = new CatalogueEditor();
    await editor.upsertProvider(tx, { name: 'north', style, baseUrl: 'https://north.example' });
    await editor.upsertProvider(tx, { name: 'own-rack', style, baseUrl: 'https://rack.example', settings });
  });
  await app.application.get(CatalogueService, { strict: false }).reload();
  await record(ownOrganisation, 'big', 200, 3);
  await record(null, 'big', 500, 1);
});
afterAll(() => app.close());

test('a supplier that needs no credential is not reported as missing one', async () => {
  const { providers } = (await data(platformCookie)).json as { providers: Record<string, unknown>[] };
  expect(providers.map(({ provider, credential }) => [provider, credential])).toEqual([
    ['north', 'missing'],
    ['own-rack', 'not-needed'],
  ]);
  const labels = (await page(platformCookie)).matchAll(/badge-(warn|neutral)"><span>(missing|not needed)</g);
  expect([...labels].map(([, tone, label]) => [tone, label])).toEqual([
    ['warn', 'missing'],
    ['neutral', 'not needed'],
  ]);
});

test('an empty period shows its own text', async () => {
  const body = await page(platformCookie);
  expect(body).toContain('No incidents in this period');
});

test('traffic covers the scope, and suppliers are shown to the platform only', async () => {
  const platformData = await data(platformCookie);
  expect(platformData.status).toBe(200);
  expect(platformData.json.total).toMatchObject({
    requests: 4,
    failures: 1,
    failovers: 3,
    cost_usd: 0.004,
    mean_latency_ms: 100,
  });
  expect(platformData.json.steps).toHaveLength(24);
  expect(platformData.json.providers).toMatchObject([
    { provider: 'north', credential: 'missing', traffic: { requests: 4 } },
    { provider: 'own-rack', traffic: { requests: 0 } },
  ]);
  const ownData = await data(await signInAs('org_owner', ownOrganisation));
  expect(ownData.json).toMatchObject({
    total: { requests: 3, failures: 0 },
    providers: null,
    incidents: null,
  });
  expect((await data(await signInAs('user', ownOrganisation))).status).toBe(403);
  expect((await data('')).status).toBe(401);
  expect((await data(platformCookie, '?hours=5')).status).toBe(422);
  const { steps } = (await data(platformCookie, '?hours=168')).json;
  expect(steps).toHaveLength(7);
});

test('an open circuit breaker is an incident from opening to closing', async () => {
  const closeLane = openLane('north');
  await watch.check();
  await watch.check();
  expect(await rows()).toEqual([{ kind: 'lane', subject: 'north big', cause: 'backend_error', over: false }]);
  expect((await data(platformCookie)).json.providers).toMatchObject([
    { provider: 'north', circuit: 'open' },
    { provider: 'own-rack', circuit: 'unused' },
  ]);
  const body = await page(platformCookie);
  expect(body).toContain('Route passed over: north · big · eu');
  expect(body).toContain('under way');
  closeLane();
  await watch.check();
  await watch.check(new Date(Date.now() + 20_000));
  expect(await rows()).toMatchObject([{ kind: 'lane', over: true }]);
  expect(await page(platformCookie)).toContain('>over<');
});

test('a circuit breaker that opened and closed between two polls is recorded as an incident', async () => {
  openLane('brief')();
  await watch.check();
  await watch.check(new Date(Date.now() + 20_000));
  expect((await rows()).at(-1)).toMatchObject({ subject: 'brief big', over: true });
});

test('a rejected credential and a model with failing requests are incidents', async () => {
  await app.database.query(
    `INSERT INTO provider_credential (id, provider_id, label, kind, host, key_id, wrapped_key, nonce, ciphertext, health)
     SELECT gen_random_uuid(), id, 'main', 'bearer', 'https://north.example', 'none', '', '', '', 'rejected'
       FROM provider WHERE name = 'north'`,
  );
  await watch.check();
  expect((await rows()).at(-1)).toMatchObject({ kind: 'credential', subject: 'north main', over: false });
  await watch.measureErrors();
  expect((await rows()).filter(({ kind }) => kind === 'errors')).toEqual([]);
  await record(null, 'wobbly', 503, 10);
  await record(null, 'wobbly', 200, 30);
  await record(null, 'misused', 400, 40);
  await watch.measureErrors();
  expect((await rows()).at(-1)).toEqual({
    kind: 'errors',
    subject: ' wobbly',
    cause: '25 % of 40',
    over: false,
  });
});

test('the incident list is paginated, and old incidents are removed', async () => {
  const log = app.application.get(IncidentLog, { strict: false });
  const first = await log.page(new Date(0), { limit: 2 });
  expect(first.rows).toHaveLength(2);
  const second = await log.page(new Date(0), { limit: 2, cursor: first.next });
  expect(second.rows.map(({ id }) => id)).not.toEqual(first.rows.map(({ id }) => id));
  await log.deleteOld(new Date(Date.now() + 401 * 86_400_000));
  expect((await rows()).every(({ over }) => !over)).toBe(true);
});

test('scripts receive only the refreshing part of the page', async () => {
  const body = await page(platformCookie, { 'hx-request': 'true' });
  expect(body).not.toContain('<html');
  expect(body).toContain('id="traffic"');
  expect(await page(platformCookie)).toContain('hx-trigger="every 15s"');
});

describe('Open alerts and quarantine', () => {
  const fireAlert = (organisationId: number | null, severity: string, kind = 'lane-open') =>
    app.database.query(
      `INSERT INTO alert (organisation_id, kind, subject, severity, facts, since, seen_at)
       VALUES ($1, $2, gen_random_uuid()::text, $3, '{}', now(), now())`,
      [organisationId, kind, severity],
    );
  const counts = (body: string): string[] =>
    [
      ...body.matchAll(/href="\/dashboard\/admin\/alerts\?severity&#x3D;(\w+)".*?tile-figure">\D*(\d+)/gs),
    ].map(([, severity, count]) => `${severity} ${count}`);

  test('alerts of the scope are counted by severity, each with a link to its list', async () => {
    await fireAlert(null, 'urgent');
    await fireAlert(null, 'urgent');
    await fireAlert(null, 'warning');
    await fireAlert(ownOrganisation, 'info', 'budget-used');
    await app.database.query(
      `INSERT INTO alert (kind, subject, severity, facts, since, seen_at, resolved_at)
       VALUES ('disk-low', 'over', 'warning', '{}', now(), now(), now())`,
    );
    expect(counts(await page(platformCookie))).toEqual(['urgent 2', 'warning 1', 'info 0']);
    expect(counts(await page(await signInAs('org_admin', ownOrganisation)))).toEqual([
      'urgent 0',
      'warning 0',
      'info 1',
    ]);
  });

  test('a quarantine is shown only to the platform with its contents, and to owners with a link', async () => {
    const owner = await signInAs('platform_owner');
    expect(await page(owner)).not.toContain('quarantine');
    const findings = { at: new Date(), jobs: { mail: 3, evaluation: 1 }, processor: { state: 'off' } };
    await app.database.query(
      `INSERT INTO quarantine (moment, restored_at, ended, findings) VALUES ('2026-01-31T12:00Z', now(), '{}', $1)`,
      [JSON.stringify(findings)],
    );
    const body = await page(owner);
    expect(body).toContain('31 Jan 2026, 12:00:00');
    expect(body).toContain('Journals set aside: 0. Jobs waiting: 4.');
    expect(body).toContain('href="/dashboard/admin/quarantine"');
    const platformPage = await page(platformCookie);
    expect(platformPage).toContain('Journals set aside: 0. Jobs waiting: 4.');
    expect(platformPage).not.toContain('href="/dashboard/admin/quarantine"');
    expect(await page(await signInAs('org_admin', ownOrganisation))).not.toContain('Journals set aside');
    await app.database.query(
      "UPDATE quarantine SET decisions = '{}', decided_at = now(), released_at = now()",
    );
    expect(await page(owner)).not.toContain('Journals set aside');
  });
});
