import { RepeatingJobs } from '#product/platform';
import type { TestApp } from '../../support/app';
import { DnsStandIn, type Said } from '../../support/dns-stand-in';
import { addUser, signIn } from '../../support/people';
import { Browser, startAccountHouse } from './account-house';

/** The record by which a reseller's host is proven (ADR 58). */
const base = 'portal.localhost';
let dns: DnsStandIn;
let app: TestApp;
let admin: Browser;
let ours: number;

beforeAll(async () => {
  dns = await DnsStandIn.start();
  app = await startAccountHouse({ environment: { BASE_URL: `http://${base}`, DNS_SERVERS: dns.address } });
  admin = new Browser(app.url, { host: base });
  keepSession(admin, await signIn(app, await addUser(app, 'platform_admin')));
  const [row] = await app.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('Ours', 'ours') RETURNING id",
  );
  ours = row?.id ?? 0;
});
afterAll(async () => {
  await app.close();
  await dns.close();
});

function keepSession(browser: Browser, cookie: string): void {
  const [name = '', value = ''] = cookie.split('=');
  browser.keep(name, value);
}

interface ProofRow {
  proof_value: string;
  proven: boolean;
  check_result: string | null;
  check_found: string | null;
}

const page = () => `/dashboard/admin/organisations/${ours}/domains`;
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
/** A host that is entered, and what the name server says of its record. */
async function entered(said?: Said): Promise<string> {
  const host = `host-${++count}.reseller.example`;
  if (said !== undefined) dns.say(nameOf(host), said);
  const answer = await admin.post(page(), { host, name: 'Reseller Models' });
  expect([answer.status, answer.json()['proven']]).toEqual([200, false]);
  return host;
}
const check = (host: string) => admin.post(`${page()}/check`, { host });
const everyDay = () => app.application.get(RepeatingJobs).run('host-proofs');

async function proven(): Promise<string> {
  const host = await entered();
  dns.say(nameOf(host), ['v=spf1 -all', await recordOf(host)]);
  expect((await check(host)).json()).toMatchObject({ ok: true, host, proven: true });
  return host;
}

/** The record was last seen this long ago. */
const age = (host: string, span: string) =>
  app.database.query('UPDATE reseller_domain SET seen_at = now() - $2::interval WHERE host = $1', [
    host,
    span,
  ]);

test('the page shows the record to set and its state, and a button looks for it again', async () => {
  const host = await entered();
  const before = await admin.page(page());
  expect(before.text).toContain(nameOf(host));
  expect(before.text.replaceAll('&#x3D;', '=')).toContain(await recordOf(host));
  expect(before.text).toContain('Not proven');
  expect(before.text).toContain('There is no such record.');
  dns.say(nameOf(host), [await recordOf(host)]);
  const pressed = await admin.submit(`${page()}/check`, { host });
  expect([pressed.status, pressed.location]).toEqual([303, page()]);
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

test('hosts that differ by their port share the name of the record, each with its own value', async () => {
  const host = await proven();
  const port = `${host}:8443`;
  const answer = await admin.post(page(), { host: port, name: 'Port' });
  // The value of the host without a port is another: it belongs to something else.
  expect(answer.json()['proven']).toBe(false);
  expect((await stateOf(port)).check_result).toBe('other');
  dns.say(nameOf(host), [await recordOf(host), await recordOf(port)]);
  expect((await check(port)).json()['proven']).toBe(true);
  // Saving the look again looks for the record too.
  const saved = await admin.post(page(), { host, name: 'Reseller Models' });
  expect(saved.json()['proven']).toBe(true);
});

test.each<[string, Said, string]>([
  ['no name', 'absent', 'absent'],
  ['no records', [], 'absent'],
  ['records of others', ['google-site-verification=abc', 'x'.repeat(600)], 'absent'],
  ['the record of another installation', ['switchboard-verification=0000'], 'other'],
  ['a failing server', 'failing', 'unanswered'],
  ['a silent server', 'silent', 'unanswered'],
])('%s proves nothing', async (_, said, result) => {
  const host = await entered(said);
  expect(await stateOf(host)).toMatchObject({ proven: false, check_result: result });
  dns.say(nameOf(host), 'absent');
});

test('almost the right value proves nothing', async () => {
  const host = await entered();
  const right = await recordOf(host);
  for (const wrong of [right.slice(0, -1), `${right}0`, right.toUpperCase(), `x${right}`]) {
    dns.say(nameOf(host), [wrong]);
    expect([wrong, (await check(host)).json()['proven']]).toEqual([wrong, false]);
  }
});

describe('every day', () => {
  test.each<[string, Said]>([
    ['a record that is missing', 'absent'],
    ['a server that fails', 'failing'],
  ])('%s leaves the proof for seven days', async (_, said) => {
    const host = await proven();
    dns.say(nameOf(host), said);
    await age(host, '6 days 23 hours');
    await everyDay();
    expect((await stateOf(host)).proven).toBe(true);
    expect((await admin.page(page())).text).toContain('Proof ends');
    await age(host, '7 days 1 second');
    await everyDay();
    expect((await stateOf(host)).proven).toBe(false);
    const entries = await app.database.query(
      "SELECT 1 FROM activity WHERE action = 'organisation.domain-proof-ended' AND object_label = $1",
      [host],
    );
    expect(entries).toHaveLength(1);
  });

  test('a record that names something else ends the proof at once, and the right one brings it back', async () => {
    const host = await proven();
    dns.say(nameOf(host), ['switchboard-verification=somebody-else']);
    await everyDay();
    expect(await stateOf(host)).toMatchObject({
      proven: false,
      check_result: 'other',
      check_found: 'switchboard-verification=somebody-else',
    });
    dns.say(nameOf(host), [await recordOf(host)]);
    await everyDay();
    expect((await stateOf(host)).proven).toBe(true);
  });

  test('every host is looked for', async () => {
    const hosts = [await entered(), await entered()];
    dns.asked.length = 0;
    await everyDay();
    expect(dns.asked).toEqual(expect.arrayContaining(hosts.map(nameOf)));
  });
});

test('a host that is removed and entered again has another value, and nobody’s sessions', async () => {
  const host = await proven();
  const former = await recordOf(host);
  const cookie = await signIn(app, await addUser(app));
  await app.database.query(
    "UPDATE session SET host = $1 WHERE host = '' AND user_id = (SELECT max(id) FROM user_account)",
    [host],
  );
  const visitor = new Browser(app.url, { host, cookie });
  expect((await visitor.get('/api/legal/status')).status).toBe(200);
  expect((await admin.post(`${page()}/delete`, { host })).status).toBe(200);
  const again = await admin.post(page(), { host, name: 'Reseller Models' });
  expect(again.json()['proven']).toBe(false);
  expect(await recordOf(host)).not.toBe(former);
  expect(await app.database.query('SELECT 1 FROM session WHERE host = $1', [host])).toEqual([]);
});

test('administrators of an organisation neither see nor check hosts', async () => {
  const host = await proven();
  const owner = await addUser(app, 'org_owner');
  await app.database.query('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [owner, ours]);
  const browser = new Browser(app.url, { host: base, cookie: await signIn(app, owner) });
  expect((await browser.post(`${page()}/check`, { host })).status).toBe(403);
  expect((await browser.page(page())).status).toBe(403);
  expect((await check('absent.reseller.example')).status).toBe(404);
});
