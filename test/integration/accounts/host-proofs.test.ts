import { RepeatingJobs } from '#product/platform';
import type { TestApp } from '../../support/app';
import { DnsStandIn, type TxtResult } from '../../support/dns-stand-in';
import { addUser, signIn } from '../../support/users';
import { Browser, startAccountFixture } from './account-fixture';

/** The DNS record that proves a reseller's host (ADR 58). */
const base = 'portal.localhost';
let dns: DnsStandIn;
let app: TestApp;
let admin: Browser;
let ownOrganisation: number;

beforeAll(async () => {
  dns = await DnsStandIn.start();
  app = await startAccountFixture({ environment: { BASE_URL: `http://${base}`, DNS_SERVERS: dns.address } });
  admin = new Browser(app.url, { host: base });
  setSessionCookie(admin, await signIn(app, await addUser(app, 'platform_admin')));
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours') RETURNING id",
  );
  ownOrganisation = row?.id ?? 0;
});
afterAll(async () => {
  await app.close();
  await dns.close();
});

function setSessionCookie(browser: Browser, cookie: string): void {
  const [name = '', value = ''] = cookie.split('=');
  browser.setCookie(name, value);
}

interface ProofRow {
  proof_value: string;
  proven: boolean;
  check_result: string | null;
  check_found: string | null;
}

const page = () => `/dashboard/admin/organisations/${ownOrganisation}/domains`;
const nameOf = (host: string) => `_switchboard.${host}`;
const stateOf = async (host: string): Promise<ProofRow> => {
  const [row] = await app.database.query<ProofRow>(
    `SELECT proof_value, proven_at IS NOT NULL AS proven, check_result, check_found FROM reseller_domain
      WHERE host = $1`,
    [host],
  );
  return row ?? { proof_value: '', proven: false, check_result: null, check_found: null };
};
const recordOf = async (host: string) => `switchboard-verification=${(await stateOf(host)).proof_value}`;

let count = 0;
/** Adds a host whose DNS lookup gives the record, and returns the host. */
async function addHost(record?: TxtResult): Promise<string> {
  const host = `host-${++count}.reseller.example`;
  if (record !== undefined) dns.setResult(nameOf(host), record);
  const answer = await admin.post(page(), { host, name: 'Reseller Models' });
  expect([answer.status, answer.json()['proven']]).toEqual([200, false]);
  return host;
}
const check = (host: string) => admin.post(`${page()}/check`, { host });
const runDailyCheck = () => app.application.get(RepeatingJobs).run('host-proofs');

async function addProvenHost(): Promise<string> {
  const host = await addHost();
  dns.setResult(nameOf(host), ['v=spf1 -all', await recordOf(host)]);
  expect((await check(host)).json()).toMatchObject({ ok: true, host, proven: true });
  return host;
}

/** Moves the last sighting of the record into the past. */
const ageRecord = (host: string, span: string) =>
  app.database.query('UPDATE reseller_domain SET seen_at = now() - $2::interval WHERE host = $1', [
    host,
    span,
  ]);

test('the page shows the record to set and its state, and a button checks the record again', async () => {
  const host = await addHost();
  const before = await admin.page(page());
  expect(before.text).toContain(nameOf(host));
  expect(before.text.replaceAll('&#x3D;', '=')).toContain(await recordOf(host));
  expect(before.text).toContain('Not proven');
  expect(before.text).toContain('There is no such record.');
  dns.setResult(nameOf(host), [await recordOf(host)]);
  const checkResponse = await admin.submit(`${page()}/check`, { host });
  expect([checkResponse.status, checkResponse.location]).toEqual([303, page()]);
  const after = await admin.page(page());
  expect(after.text).toContain('Proven since');
  expect(after.text).toContain('The record is there.');
  expect(await stateOf(host)).toMatchObject({ proven: true, check_result: 'seen' });
  const entries = await app.database.query(
    "SELECT 1 FROM activity WHERE action = 'organisation.domain-proven' AND object_label = $1",
    [host],
  );
  expect(entries).toHaveLength(1);
});

test('hosts that differ only in port share the record name, each with its own value', async () => {
  const host = await addProvenHost();
  const port = `${host}:8443`;
  const answer = await admin.post(page(), { host: port, name: 'Port' });
  // The value of the host without a port does not prove the host with a port.
  expect(answer.json()['proven']).toBe(false);
  expect((await stateOf(port)).check_result).toBe('other');
  dns.setResult(nameOf(host), [await recordOf(host), await recordOf(port)]);
  expect((await check(port)).json()['proven']).toBe(true);
  // Saving the branding also checks the record.
  const saved = await admin.post(page(), { host, name: 'Reseller Models' });
  expect(saved.json()['proven']).toBe(true);
});

test.each<[string, TxtResult, string]>([
  ['no name', 'absent', 'absent'],
  ['no records', [], 'absent'],
  ['records of others', ['google-site-verification=abc', 'x'.repeat(600)], 'absent'],
  ['the record of another installation', ['switchboard-verification=0000'], 'other'],
  ['a failing server', 'failing', 'unanswered'],
  ['a silent server', 'silent', 'unanswered'],
])('%s does not prove a host', async (_, said, result) => {
  const host = await addHost(said);
  expect(await stateOf(host)).toMatchObject({ proven: false, check_result: result });
  dns.setResult(nameOf(host), 'absent');
});

test('an almost correct value does not prove a host', async () => {
  const host = await addHost();
  const correctRecord = await recordOf(host);
  for (const wrongRecord of [
    correctRecord.slice(0, -1),
    `${correctRecord}0`,
    correctRecord.toUpperCase(),
    `x${correctRecord}`,
  ]) {
    dns.setResult(nameOf(host), [wrongRecord]);
    expect([wrongRecord, (await check(host)).json()['proven']]).toEqual([wrongRecord, false]);
  }
});

describe('Daily check of host proofs', () => {
  test.each<[string, TxtResult]>([
    ['a record that is missing', 'absent'],
    ['a server that fails', 'failing'],
  ])('%s keeps the proof valid for seven days', async (_, said) => {
    const host = await addProvenHost();
    dns.setResult(nameOf(host), said);
    await ageRecord(host, '6 days 23 hours');
    await runDailyCheck();
    expect((await stateOf(host)).proven).toBe(true);
    expect((await admin.page(page())).text).toContain('Proof ends');
    await ageRecord(host, '7 days 1 second');
    await runDailyCheck();
    expect((await stateOf(host)).proven).toBe(false);
    const entries = await app.database.query(
      "SELECT 1 FROM activity WHERE action = 'organisation.domain-proof-ended' AND object_label = $1",
      [host],
    );
    expect(entries).toHaveLength(1);
  });

  test('a record with another value ends the proof immediately, and the correct value restores it', async () => {
    const host = await addProvenHost();
    dns.setResult(nameOf(host), ['switchboard-verification=somebody-else']);
    await runDailyCheck();
    expect(await stateOf(host)).toMatchObject({
      proven: false,
      check_result: 'other',
      check_found: 'switchboard-verification=somebody-else',
    });
    dns.setResult(nameOf(host), [await recordOf(host)]);
    await runDailyCheck();
    expect((await stateOf(host)).proven).toBe(true);
  });

  test('checks every host', async () => {
    const hosts = [await addHost(), await addHost()];
    dns.queries.length = 0;
    await runDailyCheck();
    expect(dns.queries).toEqual(expect.arrayContaining(hosts.map(nameOf)));
  });
});

test('a host that is removed and added again gets another value and loses its sessions', async () => {
  const host = await addProvenHost();
  const formerRecord = await recordOf(host);
  const cookie = await signIn(app, await addUser(app));
  await app.database.query(
    "UPDATE session SET host = $1 WHERE host = '' AND user_id = (SELECT max(id) FROM user_account)",
    [host],
  );
  const visitor = new Browser(app.url, { host, cookie });
  expect((await visitor.get('/api/legal/status')).status).toBe(200);
  expect((await admin.post(`${page()}/delete`, { host })).status).toBe(200);
  const addResponse = await admin.post(page(), { host, name: 'Reseller Models' });
  expect(addResponse.json()['proven']).toBe(false);
  expect(await recordOf(host)).not.toBe(formerRecord);
  expect(await app.database.query('SELECT 1 FROM session WHERE host = $1', [host])).toEqual([]);
});

test('organisation administrators cannot see or check hosts', async () => {
  const host = await addProvenHost();
  const owner = await addUser(app, 'org_owner');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
    owner,
    ownOrganisation,
  ]);
  const browser = new Browser(app.url, { host: base, cookie: await signIn(app, owner) });
  expect((await browser.post(`${page()}/check`, { host })).status).toBe(403);
  expect((await browser.page(page())).status).toBe(403);
  expect((await check('absent.reseller.example')).status).toBe(404);
});
