import { SIGNING_SECRET } from '../../support/alert-receivers';
import { until } from '../../support/until';
import type { Person } from '../admin/house';
import { AlertHouse, DAY, HOUR, MINUTE, PATH } from './alert-house';

let house: AlertHouse;
let platform: Person;
const ids: Record<string, number> = {};

const kinds = ['webhook', 'slack', 'teams', 'pagerduty'] as const;

beforeAll(async () => {
  house = await AlertHouse.open({ environment: { NODE_ENV: 'development' } });
  platform = await house.house.person('platform_owner');
  for (const kind of kinds) ids[kind] = await house.channel(platform, kind);
});
afterAll(() => house.close());
beforeEach(async () => {
  house.receivers.clear();
  await house.query('DELETE FROM alert');
  await house.query('DELETE FROM node_state');
});

const rows = () =>
  house.query<{
    kind: string;
    event: string;
    outcome: string | null;
    attempts: number;
    last_error: string | null;
  }>(
    `SELECT c.kind, d.event, d.outcome, d.attempts, d.last_error FROM alert_delivery d
       JOIN alert_channel c ON c.id = d.channel_id WHERE c.kind <> 'mail' ORDER BY d.id`,
  );

test('every receiver takes what fires, what is acknowledged where it knows that, and what is over', async () => {
  const runbook = 'docs/runbooks/DiskNearlyFull.md';
  await house.disk(0.04);
  await house.pass();
  const [alert] = await house.alerts('disk-low');
  for (const kind of kinds) expect(house.receivers.of(kind)).toHaveLength(1);
  expect(house.receivers.of('webhook')[0]).toMatchObject({
    type: 'alert.triggered',
    data: {
      id: alert!.id,
      kind: 'disk-low',
      severity: 'urgent',
      organisation_id: null,
      facts: { node: 'far-away', percent: 4, gibibytes: 1 },
      url: expect.stringContaining(`${PATH}/${alert!.id}`),
      runbook,
    },
  });
  for (const kind of kinds) expect(JSON.stringify(house.receivers.of(kind)[0])).toContain(runbook);
  expect(house.receivers.of('slack')[0]).toMatchObject({ text: 'Urgent: Disk nearly full' });
  expect(house.receivers.of('pagerduty')[0]).toMatchObject({
    event_action: 'trigger',
    payload: { severity: 'critical', class: 'disk-low', custom_details: { runbook } },
  });
  const { dedup_key: dedupKey } = house.receivers.of('pagerduty')[0]!;

  // Nothing is told twice.
  await house.pass();
  expect(house.receivers.taken).toHaveLength(4);

  await house.house.post(platform, `${PATH}/${alert!.id}/acknowledge`, { reason: 'I am on it' });
  await house.deliver(MINUTE);
  expect(
    house.receivers.taken.slice(4).map(({ path, body }) => [path, body['type'] ?? body['event_action']]),
  ).toEqual(
    expect.arrayContaining([
      ['webhook', 'alert.acknowledged'],
      ['pagerduty', 'acknowledge'],
    ]),
  );
  expect(house.receivers.taken).toHaveLength(6);

  await house.disk(0.5);
  await house.pass();
  await house.disk(0.5);
  await house.pass(11 * MINUTE);
  expect((await house.alerts('disk-low'))[0]!.state).toBe('resolved');
  expect(house.receivers.taken).toHaveLength(10);
  expect(house.receivers.of('slack')[1]).toMatchObject({ text: 'Resolved: Disk nearly full' });
  expect(house.receivers.of('pagerduty')[2]).toEqual({
    routing_key: expect.any(String),
    event_action: 'resolve',
    dedup_key: dedupKey,
  });
  expect(house.receivers.refused).toEqual([]);
});

test('hostile names stay within the bounds and the signs of every receiver', async () => {
  const name = `${'<!channel> *x* [a](https://evil.example) & 🧨'.repeat(60)}`;
  await house.query(
    `INSERT INTO incident (kind, provider, credential, cause, started_at, last_seen_at)
     VALUES ('credential', $1, $2, 'auth_unavailable', now(), now())`,
    [name, name.slice(0, 200)],
  );
  await house.pass();
  await house.query('DELETE FROM incident');
  expect(house.receivers.refused).toEqual([]);
  for (const kind of kinds) expect(house.receivers.of(kind)).toHaveLength(1);
  const [slack] = house.receivers.of('slack');
  expect(slack).toMatchObject({
    blocks: expect.arrayContaining([
      { type: 'section', text: expect.objectContaining({ text: expect.stringContaining('<!channel>') }) },
    ]),
  });
});

test('a receiver that is away gets its messages later, each once, in their order; what was overtaken is left out', async () => {
  house.receivers.trouble = (path) => (path === 'slack' ? { status: 503, body: 'away' } : null);
  await house.disk(0.04, 'one');
  await house.pass();
  await house.disk(0.04, 'one');
  await house.disk(0.04, 'two');
  await house.pass();
  expect(house.receivers.of('webhook')).toHaveLength(2);
  const waiting = (await rows()).filter(({ outcome }) => outcome === null);
  expect(waiting).toMatchObject([{ kind: 'slack', last_error: 'HTTP 503: away' }, { kind: 'slack' }]);
  // The first one is over before it is told of.
  await house.disk(0.5, 'one');
  await house.disk(0.04, 'two');
  await house.pass();
  await house.disk(0.5, 'one');
  await house.disk(0.04, 'two');
  house.receivers.trouble = () => null;
  await house.pass(11 * MINUTE);
  await house.deliver(HOUR);
  expect(house.receivers.of('slack').map(({ text }) => text)).toEqual(['Urgent: Disk nearly full']);
  expect(
    (await rows()).filter(({ kind }) => kind === 'slack').map(({ event, outcome }) => [event, outcome]),
  ).toEqual([
    ['triggered', 'dropped'],
    ['triggered', 'delivered'],
    ['resolved', 'dropped'],
  ]);
});

test('a pause that a receiver asks for is kept', async () => {
  house.receivers.trouble = (path) =>
    path === 'slack' ? { status: 429, body: 'rate_limited', headers: { 'retry-after': '1800' } } : null;
  await house.disk(0.04);
  await house.pass();
  const asked = () => house.receivers.refused.length;
  expect(asked()).toBe(1);
  await house.disk(0.04, 'another');
  await house.pass(5 * MINUTE);
  // A new message is tried, and has to wait as well.
  const before = asked();
  await house.deliver(10 * MINUTE);
  expect(asked()).toBe(before);
  house.receivers.trouble = () => null;
  await house.deliver(35 * MINUTE);
  await house.deliver(MINUTE);
  expect(house.receivers.of('slack')).toHaveLength(2);
});

test('what a receiver refuses is not sent again, and its words are on the page', async () => {
  house.receivers.trouble = (path) => (path === 'teams' ? { status: 400, body: 'bad card' } : null);
  await house.disk(0.04);
  await house.pass();
  await house.deliver(HOUR);
  expect(house.receivers.refused).toHaveLength(1);
  expect((await rows()).find(({ kind }) => kind === 'teams')).toMatchObject({
    outcome: 'failed',
    attempts: 1,
    last_error: 'HTTP 400: bad card',
  });
  const { text } = await house.house.get(platform, `${PATH}/channels`);
  expect(text).toContain('HTTP 400: bad card');
  expect(text).not.toContain('T0ken');
});

test('a webhook is tried for a day, then given up; one that is gone is switched off', async () => {
  house.receivers.trouble = (path) => (path === 'webhook' ? { status: 500 } : null);
  await house.disk(0.04);
  await house.pass();
  for (let hour = 0; hour < 25; hour += 1) await house.deliver(HOUR + MINUTE);
  expect((await rows()).find(({ kind }) => kind === 'webhook')).toMatchObject({ outcome: 'failed' });
  const tries = house.receivers.refused.length;
  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThan(30);

  await house.query('DELETE FROM alert');
  house.receivers.trouble = (path) => (path === 'webhook' ? { status: 410 } : null);
  await house.disk(0.04);
  await house.pass(DAY);
  const [row] = await house.query<{ enabled: boolean }>('SELECT enabled FROM alert_channel WHERE id = $1', [
    ids['webhook'],
  ]);
  expect(row).toEqual({ enabled: false });
  await house.query('UPDATE alert_channel SET enabled = true');
});

test('owners of the platform get mails of what is urgent without any setting, in their language', async () => {
  const [owner, admin, muted] = [
    await house.house.person('platform_owner', { preferredLanguage: 'de' }),
    await house.house.person('platform_admin'),
    await house.house.person('platform_owner'),
  ];
  await house.query(`INSERT INTO user_setting (user_id, muted_notices) VALUES ($1, '{suppliers}')`, [
    muted.id,
  ]);
  await house.disk(0.04);
  await house.query(
    `INSERT INTO incident (kind, provider, model, region, cause, started_at, last_seen_at)
     VALUES ('credential', 'north', '', '', 'auth_unavailable', now() - interval '1 hour', now()),
            ('lane', 'north', 'alpha', 'eu', 'timeout', now() - interval '1 hour', now())`,
  );
  await house.pass();
  await house.query('DELETE FROM incident');
  await until(async () => (await house.mailsTo(owner)).length >= 2);
  const subjects = async (person: Person) =>
    (await house.mailsTo(person)).map(({ subject }) => subject).sort();
  expect(await subjects(owner)).toEqual([
    'Dringend: Anbieter lehnt unseren Schlüssel ab',
    'Dringend: Datenträger fast voll',
  ]);
  await until(async () => (await house.mailsTo(muted)).length >= 1);
  expect(await subjects(muted)).toEqual(['Urgent: Disk nearly full']);
  expect(await subjects(admin)).toEqual([]);
  // A lane is a warning, for which the mail is not meant.
  expect(await house.alerts('lane-open')).toHaveLength(1);
});

test('a mail that nobody gets is not told as delivered', async () => {
  const organisation = await house.house.organisation();
  const administrator = await house.house.person('org_admin', { organisationId: organisation });
  const channel = await house.channel(administrator, 'mail', { audience: 'owners' });
  const tested = await house.house.post(administrator, `${PATH}/channels/${channel}/test`);
  expect(tested.body).toEqual({ ok: false, id: channel, answer: expect.stringMatching(/^nobody gets it/) });
  const [alert] = await house.query<{ id: string }>(
    `INSERT INTO alert (organisation_id, kind, subject, severity, facts, since, seen_at)
     VALUES ($1, 'key-ending', 'k', 'warning', '{}', now(), now()) RETURNING id`,
    [organisation],
  );
  await house.query(
    `INSERT INTO alert_delivery (alert_id, channel_id, event, due_at) VALUES ($1, $2, 'triggered', now() - interval '1 day')`,
    [alert!.id, channel],
  );
  const told = () =>
    house.query<object>('SELECT outcome, last_error FROM alert_delivery WHERE channel_id = $1', [channel]);
  await house.deliver();
  expect(await told()).toEqual([
    { outcome: 'dropped', last_error: expect.stringMatching(/^nobody gets it/) },
  ]);
  // Somebody has the role now.
  await house.house.person('org_owner', { organisationId: organisation });
  expect((await house.house.post(administrator, `${PATH}/channels/${channel}/test`)).body).toEqual({
    ...{ ok: true, id: channel, answer: 'mails: 1' },
  });
});

test('a test message shows what the receiver says, and stands in the log', async () => {
  const test = (kind: string) => house.house.post(platform, `${PATH}/channels/${ids[kind]}/test`);
  expect((await test('slack')).body).toEqual({ ok: true, id: ids['slack'], answer: 'HTTP 200: ok' });
  expect((await test('pagerduty')).body).toMatchObject({ ok: true });
  expect(house.receivers.of('pagerduty').map(({ event_action: action }) => action)).toEqual([
    'trigger',
    'resolve',
  ]);
  house.receivers.trouble = () => ({ status: 404, body: 'no_service' });
  expect((await test('teams')).body).toEqual({ ok: false, id: ids['teams'], answer: 'HTTP 404: no_service' });
  const [entry] = await house.query<object>(
    `SELECT action, reason FROM activity WHERE action = 'alert.channel-tested' ORDER BY id DESC LIMIT 1`,
  );
  expect(entry).toEqual({ action: 'alert.channel-tested', reason: 'HTTP 404: no_service' });
});

test('no address of a private network is taken or reached without the permission of the operator', async () => {
  const strict = await AlertHouse.open({ environment: { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '' } });
  try {
    const owner = await strict.house.person('org_owner');
    const add = (url: string) =>
      strict.house.post(owner, `${PATH}/channels/create`, {
        ...{ kind: 'slack', name: 'inward', least_severity: 'info', url },
      });
    for (const url of [
      'http://127.0.0.1/hook',
      'https://10.0.0.8/hook',
      'https://169.254.169.254/latest',
      'https://user:word@hooks.slack.com/x',
      'https://[::1]/x',
      'http://hooks.slack.com/services/x',
      'https://hooks.slack.com:8443/x',
      'nowhere',
    ]) {
      const { status, body } = await add(url);
      expect([url, status, body['param']]).toEqual([url, 422, 'url']);
    }
    // A name may stand for a private address later: it is checked at every connection.
    const { status, body } = await add('https://localhost/hook');
    expect(status).toBe(200);
    const tested = await strict.house.post(owner, `${PATH}/channels/${String(body['id'])}/test`);
    expect(tested.body).toMatchObject({
      ok: false,
      answer: 'this address is not allowed',
    });
  } finally {
    await strict.close();
  }
});

test('addresses and keys are sealed, and stay when they are left empty', async () => {
  const [row] = await house.query<{ secret: Buffer; host: string }>(
    'SELECT secret, host FROM alert_channel WHERE id = $1',
    [ids['webhook']],
  );
  expect(row!.secret.includes('T0ken')).toBe(false);
  expect(row!.secret.includes(SIGNING_SECRET)).toBe(false);
  expect(row!.host).toBe(new URL(house.receivers.origin).host);
  const update = {
    name: 'renamed',
    least_severity: 'warning',
    language: 'fr',
    enabled: 'true',
    url: '',
    key: '',
  };
  const path = `${PATH}/channels/${ids['webhook']}/update`;
  expect((await house.house.submit(platform, `${PATH}/channels`, path, update)).status).toBe(303);
  await house.house.post(platform, `${PATH}/channels/${ids['webhook']}/test`);
  expect(house.receivers.of('webhook')[0]).toMatchObject({
    data: { title: expect.stringMatching(/^Test\s: Les alertes/) },
  });
  // A key is not sent to another host than the one it was entered for.
  const moved = await house.house.post(platform, `${PATH}/channels/${ids['pagerduty']}/update`, {
    ...{ name: 'moved', least_severity: 'info', language: 'en', url: 'https://elsewhere.example/v2/enqueue' },
  });
  expect(moved).toMatchObject({ status: 422, body: { param: 'key' } });
  const log = JSON.stringify(await house.query(`SELECT * FROM activity WHERE action LIKE 'alert.%'`));
  for (const secret of ['T0ken', SIGNING_SECRET]) expect(log).not.toContain(secret);
  expect(house.house.app.log.join('')).not.toContain('T0ken');
});

test('the tabs stand at the top of each page', async () => {
  for (const place of ['', '/rules', '/channels']) {
    const { text } = await house.house.get(platform, PATH + place);
    const [tabs, next] = [text.indexOf('class="tabs"'), text.search(/class="(filter-bar|card)"/)];
    expect([place, tabs > 0 && next > tabs]).toEqual([place, true]);
  }
});
