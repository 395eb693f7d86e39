import { SIGNING_SECRET } from '../../support/alert-receivers';
import { until } from '../../support/until';
import type { Person } from '../admin/portal-fixture';
import { AlertFixture, DAY_MS, HOUR_MS, MINUTE_MS, ALERTS_PATH } from './alert-fixture';

let fixture: AlertFixture;
let platformOwner: Person;
const ids: Record<string, number> = {};

const kinds = ['webhook', 'slack', 'teams', 'pagerduty'] as const;

beforeAll(async () => {
  fixture = await AlertFixture.open({ environment: { NODE_ENV: 'development' } });
  platformOwner = await fixture.portal.person('platform_owner');
  for (const kind of kinds) ids[kind] = await fixture.createChannel(platformOwner, kind);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  fixture.receivers.clear();
  await fixture.query('DELETE FROM alert');
  await fixture.query('DELETE FROM node_state');
});

const rows = () =>
  fixture.query<{
    kind: string;
    event: string;
    outcome: string | null;
    attempts: number;
    last_error: string | null;
  }>(
    `SELECT c.kind, d.event, d.outcome, d.attempts, d.last_error FROM alert_delivery d
       JOIN alert_channel c ON c.id = d.channel_id WHERE c.kind <> 'mail' ORDER BY d.id`,
  );

test('each receiver gets fired, acknowledged and resolved alerts in its format', async () => {
  const runbookPath = 'docs/runbooks/DiskNearlyFull.md';
  await fixture.reportDisk(0.04);
  await fixture.poll();
  const [alert] = await fixture.alerts('disk-low');
  for (const kind of kinds) expect(fixture.receivers.acceptedBy(kind)).toHaveLength(1);
  expect(fixture.receivers.acceptedBy('webhook')[0]).toMatchObject({
    type: 'alert.triggered',
    data: {
      id: alert!.id,
      kind: 'disk-low',
      severity: 'urgent',
      organisation_id: null,
      facts: { node: 'far-away', percent: 4, gibibytes: 1 },
      url: expect.stringContaining(`${ALERTS_PATH}/${alert!.id}`),
      runbook: runbookPath,
    },
  });
  for (const kind of kinds)
    expect(JSON.stringify(fixture.receivers.acceptedBy(kind)[0])).toContain(runbookPath);
  expect(fixture.receivers.acceptedBy('slack')[0]).toMatchObject({ text: 'Urgent: Disk nearly full' });
  expect(fixture.receivers.acceptedBy('pagerduty')[0]).toMatchObject({
    event_action: 'trigger',
    payload: { severity: 'critical', class: 'disk-low', custom_details: { runbook: runbookPath } },
  });
  const { dedup_key: dedupKey } = fixture.receivers.acceptedBy('pagerduty')[0]!;

  // No alert is sent twice.
  await fixture.poll();
  expect(fixture.receivers.accepted).toHaveLength(4);

  await fixture.portal.post(platformOwner, `${ALERTS_PATH}/${alert!.id}/acknowledge`, {
    reason: 'I am on it',
  });
  await fixture.deliver(MINUTE_MS);
  expect(
    fixture.receivers.accepted.slice(4).map(({ path, body }) => [path, body['type'] ?? body['event_action']]),
  ).toEqual(
    expect.arrayContaining([
      ['webhook', 'alert.acknowledged'],
      ['pagerduty', 'acknowledge'],
    ]),
  );
  expect(fixture.receivers.accepted).toHaveLength(6);

  await fixture.reportDisk(0.5);
  await fixture.poll();
  await fixture.reportDisk(0.5);
  await fixture.poll(11 * MINUTE_MS);
  expect((await fixture.alerts('disk-low'))[0]!.state).toBe('resolved');
  expect(fixture.receivers.accepted).toHaveLength(10);
  expect(fixture.receivers.acceptedBy('slack')[1]).toMatchObject({ text: 'Resolved: Disk nearly full' });
  expect(fixture.receivers.acceptedBy('pagerduty')[2]).toEqual({
    routing_key: expect.any(String),
    event_action: 'resolve',
    dedup_key: dedupKey,
  });
  expect(fixture.receivers.refused).toEqual([]);
});

test('hostile names are truncated and escaped for each receiver', async () => {
  const name = `${'<!channel> *x* [a](https://evil.example) & 🧨'.repeat(60)}`;
  await fixture.query(
    `INSERT INTO incident (kind, provider, credential, cause, started_at, last_seen_at)
     VALUES ('credential', $1, $2, 'auth_unavailable', now(), now())`,
    [name, name.slice(0, 200)],
  );
  await fixture.poll();
  await fixture.query('DELETE FROM incident');
  expect(fixture.receivers.refused).toEqual([]);
  for (const kind of kinds) expect(fixture.receivers.acceptedBy(kind)).toHaveLength(1);
  const [slack] = fixture.receivers.acceptedBy('slack');
  expect(slack).toMatchObject({
    blocks: expect.arrayContaining([
      { type: 'section', text: expect.objectContaining({ text: expect.stringContaining('<!channel>') }) },
    ]),
  });
});

test('messages to an unavailable receiver arrive later, once and in order, without outdated ones', async () => {
  fixture.receivers.override = (path) => (path === 'slack' ? { status: 503, body: 'away' } : null);
  await fixture.reportDisk(0.04, 'one');
  await fixture.poll();
  await fixture.reportDisk(0.04, 'one');
  await fixture.reportDisk(0.04, 'two');
  await fixture.poll();
  expect(fixture.receivers.acceptedBy('webhook')).toHaveLength(2);
  const pendingRows = (await rows()).filter(({ outcome }) => outcome === null);
  expect(pendingRows).toMatchObject([{ kind: 'slack', last_error: 'HTTP 503: away' }, { kind: 'slack' }]);
  // Resolved before its message is sent.
  await fixture.reportDisk(0.5, 'one');
  await fixture.reportDisk(0.04, 'two');
  await fixture.poll();
  await fixture.reportDisk(0.5, 'one');
  await fixture.reportDisk(0.04, 'two');
  fixture.receivers.override = () => null;
  await fixture.poll(11 * MINUTE_MS);
  await fixture.deliver(HOUR_MS);
  expect(fixture.receivers.acceptedBy('slack').map(({ text }) => text)).toEqual(['Urgent: Disk nearly full']);
  expect(
    (await rows()).filter(({ kind }) => kind === 'slack').map(({ event, outcome }) => [event, outcome]),
  ).toEqual([
    ['triggered', 'dropped'],
    ['triggered', 'delivered'],
    ['resolved', 'dropped'],
  ]);
});

test('the Retry-After time of a receiver is respected', async () => {
  fixture.receivers.override = (path) =>
    path === 'slack' ? { status: 429, body: 'rate_limited', headers: { 'retry-after': '1800' } } : null;
  await fixture.reportDisk(0.04);
  await fixture.poll();
  const countAttempts = () => fixture.receivers.refused.length;
  expect(countAttempts()).toBe(1);
  await fixture.reportDisk(0.04, 'another');
  await fixture.poll(5 * MINUTE_MS);
  // A new message has to wait after its first attempt, too.
  const attemptsBefore = countAttempts();
  await fixture.deliver(10 * MINUTE_MS);
  expect(countAttempts()).toBe(attemptsBefore);
  fixture.receivers.override = () => null;
  await fixture.deliver(35 * MINUTE_MS);
  await fixture.deliver(MINUTE_MS);
  expect(fixture.receivers.acceptedBy('slack')).toHaveLength(2);
});

test('a message refused by its receiver is not repeated, and its error is shown on the page', async () => {
  fixture.receivers.override = (path) => (path === 'teams' ? { status: 400, body: 'bad card' } : null);
  await fixture.reportDisk(0.04);
  await fixture.poll();
  await fixture.deliver(HOUR_MS);
  expect(fixture.receivers.refused).toHaveLength(1);
  expect((await rows()).find(({ kind }) => kind === 'teams')).toMatchObject({
    outcome: 'failed',
    attempts: 1,
    last_error: 'HTTP 400: bad card',
  });
  const { text } = await fixture.portal.get(platformOwner, `${ALERTS_PATH}/channels`);
  expect(text).toContain('HTTP 400: bad card');
  expect(text).not.toContain('T0ken');
});

test('a webhook is retried for a day, and a channel that returns 410 is switched off', async () => {
  fixture.receivers.override = (path) => (path === 'webhook' ? { status: 500 } : null);
  await fixture.reportDisk(0.04);
  await fixture.poll();
  for (let hour = 0; hour < 25; hour += 1) await fixture.deliver(HOUR_MS + MINUTE_MS);
  expect((await rows()).find(({ kind }) => kind === 'webhook')).toMatchObject({ outcome: 'failed' });
  const attempts = fixture.receivers.refused.length;
  expect(attempts).toBeGreaterThan(5);
  expect(attempts).toBeLessThan(30);

  await fixture.query('DELETE FROM alert');
  fixture.receivers.override = (path) => (path === 'webhook' ? { status: 410 } : null);
  await fixture.reportDisk(0.04);
  await fixture.poll(DAY_MS);
  const [row] = await fixture.query<{ enabled: boolean }>('SELECT enabled FROM alert_channel WHERE id = $1', [
    ids['webhook'],
  ]);
  expect(row).toEqual({ enabled: false });
  await fixture.query('UPDATE alert_channel SET enabled = true');
});

test('platform owners get emails about urgent alerts by default, in their language', async () => {
  const [owner, admin, muted] = [
    await fixture.portal.person('platform_owner', { preferredLanguage: 'de' }),
    await fixture.portal.person('platform_admin'),
    await fixture.portal.person('platform_owner'),
  ];
  await fixture.query(`INSERT INTO user_setting (user_id, muted_notices) VALUES ($1, '{suppliers}')`, [
    muted.id,
  ]);
  await fixture.reportDisk(0.04);
  await fixture.query(
    `INSERT INTO incident (kind, provider, model, region, cause, started_at, last_seen_at)
     VALUES ('credential', 'north', '', '', 'auth_unavailable', now() - interval '1 hour', now()),
            ('lane', 'north', 'alpha', 'eu', 'timeout', now() - interval '1 hour', now())`,
  );
  await fixture.poll();
  await fixture.query('DELETE FROM incident');
  await until(async () => (await fixture.mailsTo(owner)).length >= 2);
  const subjectsFor = async (person: Person) =>
    (await fixture.mailsTo(person)).map(({ subject }) => subject).sort();
  expect(await subjectsFor(owner)).toEqual([
    'Dringend: Anbieter lehnt unseren Schlüssel ab',
    'Dringend: Datenträger fast voll',
  ]);
  await until(async () => (await fixture.mailsTo(muted)).length >= 1);
  expect(await subjectsFor(muted)).toEqual(['Urgent: Disk nearly full']);
  expect(await subjectsFor(admin)).toEqual([]);
  // An open lane is a warning, which the default email channel ignores.
  expect(await fixture.alerts('lane-open')).toHaveLength(1);
});

test('an email without recipients is not reported as delivered', async () => {
  const organisation = await fixture.portal.organisation();
  const administrator = await fixture.portal.person('org_admin', { organisationId: organisation });
  const channel = await fixture.createChannel(administrator, 'mail', { audience: 'owners' });
  const testResult = await fixture.portal.post(administrator, `${ALERTS_PATH}/channels/${channel}/test`);
  expect(testResult.body).toEqual({
    ok: false,
    id: channel,
    answer: expect.stringMatching(/^nobody gets it/),
  });
  const [alert] = await fixture.query<{ id: string }>(
    `INSERT INTO alert (organisation_id, kind, subject, severity, facts, since, seen_at)
     VALUES ($1, 'key-ending', 'k', 'warning', '{}', now(), now()) RETURNING id`,
    [organisation],
  );
  await fixture.query(
    `INSERT INTO alert_delivery (alert_id, channel_id, event, due_at) VALUES ($1, $2, 'triggered', now() - interval '1 day')`,
    [alert!.id, channel],
  );
  const countDeliveries = () =>
    fixture.query<object>('SELECT outcome, last_error FROM alert_delivery WHERE channel_id = $1', [channel]);
  await fixture.deliver();
  expect(await countDeliveries()).toEqual([
    { outcome: 'dropped', last_error: expect.stringMatching(/^nobody gets it/) },
  ]);
  // The role has a member now.
  await fixture.portal.person('org_owner', { organisationId: organisation });
  expect((await fixture.portal.post(administrator, `${ALERTS_PATH}/channels/${channel}/test`)).body).toEqual({
    ...{ ok: true, id: channel, answer: 'mails: 1' },
  });
});

test('a test message shows the response of the receiver and is logged', async () => {
  const sendTest = (kind: string) =>
    fixture.portal.post(platformOwner, `${ALERTS_PATH}/channels/${ids[kind]}/test`);
  expect((await sendTest('slack')).body).toEqual({ ok: true, id: ids['slack'], answer: 'HTTP 200: ok' });
  expect((await sendTest('pagerduty')).body).toMatchObject({ ok: true });
  expect(fixture.receivers.acceptedBy('pagerduty').map(({ event_action: action }) => action)).toEqual([
    'trigger',
    'resolve',
  ]);
  fixture.receivers.override = () => ({ status: 404, body: 'no_service' });
  expect((await sendTest('teams')).body).toEqual({
    ok: false,
    id: ids['teams'],
    answer: 'HTTP 404: no_service',
  });
  const [entry] = await fixture.query<object>(
    `SELECT action, reason FROM activity WHERE action = 'alert.channel-tested' ORDER BY id DESC LIMIT 1`,
  );
  expect(entry).toEqual({ action: 'alert.channel-tested', reason: 'HTTP 404: no_service' });
});

test('a private address is refused and never connected to unless the operator allows it', async () => {
  const strictFixture = await AlertFixture.open({
    environment: { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '' },
  });
  try {
    const owner = await strictFixture.portal.person('org_owner');
    const addChannel = (url: string) =>
      strictFixture.portal.post(owner, `${ALERTS_PATH}/channels/create`, {
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
      const { status, body } = await addChannel(url);
      expect([url, status, body['param']]).toEqual([url, 422, 'url']);
    }
    // A public name can later resolve to a private address, so every connection is checked.
    const { status, body } = await addChannel('https://localhost/hook');
    expect(status).toBe(200);
    const testResult = await strictFixture.portal.post(
      owner,
      `${ALERTS_PATH}/channels/${String(body['id'])}/test`,
    );
    expect(testResult.body).toMatchObject({
      ok: false,
      answer: 'this address is not allowed',
    });
  } finally {
    await strictFixture.close();
  }
});

test('addresses and keys are stored encrypted, and stay unchanged when left blank', async () => {
  const [row] = await fixture.query<{ secret: Buffer; host: string }>(
    'SELECT secret, host FROM alert_channel WHERE id = $1',
    [ids['webhook']],
  );
  expect(row!.secret.includes('T0ken')).toBe(false);
  expect(row!.secret.includes(SIGNING_SECRET)).toBe(false);
  expect(row!.host).toBe(new URL(fixture.receivers.origin).host);
  const updateForm = {
    name: 'renamed',
    least_severity: 'warning',
    language: 'fr',
    enabled: 'true',
    url: '',
    key: '',
  };
  const path = `${ALERTS_PATH}/channels/${ids['webhook']}/update`;
  expect(
    (await fixture.portal.submit(platformOwner, `${ALERTS_PATH}/channels`, path, updateForm)).status,
  ).toBe(303);
  await fixture.portal.post(platformOwner, `${ALERTS_PATH}/channels/${ids['webhook']}/test`);
  expect(fixture.receivers.acceptedBy('webhook')[0]).toMatchObject({
    data: { title: expect.stringMatching(/^Test\s: Les alertes/) },
  });
  // A key is bound to the host for which it was entered.
  const moveResult = await fixture.portal.post(
    platformOwner,
    `${ALERTS_PATH}/channels/${ids['pagerduty']}/update`,
    {
      ...{
        name: 'moved',
        least_severity: 'info',
        language: 'en',
        url: 'https://elsewhere.example/v2/enqueue',
      },
    },
  );
  expect(moveResult).toMatchObject({ status: 422, body: { param: 'key' } });
  const log = JSON.stringify(await fixture.query(`SELECT * FROM activity WHERE action LIKE 'alert.%'`));
  for (const secret of ['T0ken', SIGNING_SECRET]) expect(log).not.toContain(secret);
  expect(fixture.portal.app.log.join('')).not.toContain('T0ken');
});

test('each alerts page has the tabs', async () => {
  for (const place of ['', '/rules', '/channels']) {
    const { text } = await fixture.portal.get(platformOwner, ALERTS_PATH + place);
    const [tabs, next] = [text.indexOf('class="tabs"'), text.search(/class="(filter-bar|card)"/)];
    expect([place, tabs > 0 && next > tabs]).toEqual([place, true]);
  }
});
