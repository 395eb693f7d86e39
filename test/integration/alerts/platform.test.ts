import { Client } from 'pg';
import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { Metrics } from '#product/platform';
import { NodeWatch } from '#product/alerts';
import { toWrittenRecord } from '../../support/record-fixture';
import { addKey } from '../../support/users';
import { createChatRecord } from '../../support/records';
import type { Person } from '../admin/portal-fixture';
import { AlertFixture, HOUR_MS, MINUTE_MS, ALERTS_PATH } from './alert-fixture';

let fixture: AlertFixture;
let platformOwner: Person;
let userId: number;
let keyId: number;

beforeAll(async () => {
  fixture = await AlertFixture.open();
  platformOwner = await fixture.portal.person('platform_owner');
  const customer = await fixture.portal.person('org_owner');
  userId = customer.id;
  keyId = (await addKey(fixture.portal.app, userId)).id;
});
afterAll(() => fixture.close());
beforeEach(async () => {
  // Every check last ran an hour ago, so each is due.
  fixture.now = Date.now() - HOUR_MS;
  await fixture.poll(0);
  fixture.now = Date.now();
  for (const table of ['alert', 'node_state', 'incident']) await fixture.query(`DELETE FROM ${table}`);
});

const insertRecords = (count: number, fields: Partial<RequestRecord>): Promise<unknown> => {
  const records = Array.from({ length: count }, () =>
    createChatRecord(userId, keyId, { costNano: 0n, createdAt: new Date(), ...fields }),
  );
  return fixture.portal.app.database.transaction(
    (tx) => insertRequestRecords(tx, records.map(toWrittenRecord)),
    {
      withoutActivity: 'a test',
    },
  );
};

const insertIncident = (kind: string, minutesAgo: number, more: { provider?: string; model?: string } = {}) =>
  fixture.query(
    `INSERT INTO incident (kind, provider, model, region, cause, started_at, last_seen_at)
     VALUES ($1, $2, $3, 'eu', 'timeout', now() - $4 * interval '1 minute', now())`,
    [kind, more.provider ?? 'north', more.model ?? 'alpha', minutesAgo],
  );

test('a refused key is reported immediately, an open lane and an unsealed log after a while', async () => {
  await insertIncident('credential', 0);
  await insertIncident('lane', 3);
  await insertIncident('lane', 6, { model: 'beta' });
  await insertIncident('seal', 1);
  await fixture.poll();
  expect(await fixture.alerts('supplier-refuses')).toMatchObject([{ severity: 'urgent', state: 'firing' }]);
  // The check runs a minute ahead.
  expect((await fixture.alerts('lane-open')).map(({ subject }) => subject)).toEqual(['north beta eu']);
  expect(await fixture.alerts('seal-late')).toHaveLength(1);
  await fixture.query('UPDATE incident SET ended_at = now()');
  await fixture.poll();
  await fixture.poll(6 * MINUTE_MS);
  for (const kind of ['supplier-refuses', 'lane-open', 'seal-late'])
    for (const { state } of await fixture.alerts(kind)) expect(state).toBe('resolved');
});

test('failing and slow models are reported from request records', async () => {
  await insertRecords(16, { model: 'flaky', servedModel: 'flaky', status: 200, firstTokenMs: null });
  await insertRecords(5, {
    model: 'flaky',
    servedModel: null,
    status: 502,
    code: 'supplier_error',
    firstTokenMs: null,
  });
  await insertRecords(19, {
    model: 'rare',
    servedModel: null,
    status: 502,
    code: 'supplier_error',
    firstTokenMs: null,
  });
  await insertRecords(40, {
    model: 'clumsy',
    servedModel: null,
    status: 422,
    code: 'validation_error',
    firstTokenMs: null,
  });
  await insertRecords(30, { model: 'brisk', servedModel: 'brisk', firstTokenMs: 300 });
  await insertRecords(3, { model: 'brisk', servedModel: 'brisk', firstTokenMs: 30_000 });
  await insertRecords(28, { model: 'sluggish', servedModel: 'sluggish', firstTokenMs: 400 });
  await insertRecords(2, { model: 'sluggish', servedModel: 'sluggish', firstTokenMs: 30_000 });
  await fixture.poll();
  expect(await fixture.alerts('error-rate')).toMatchObject([
    { subject: 'flaky', severity: 'urgent', facts: { percent: 24, requests: 21, minutes: 5 } },
  ]);
  expect((await fixture.alerts('latency')).map(({ subject }) => subject).sort()).toEqual([
    'brisk',
    'sluggish',
  ]);
  await fixture.poll(16 * MINUTE_MS);
  await fixture.poll(16 * MINUTE_MS);
  for (const kind of ['error-rate', 'latency'])
    for (const { state } of await fixture.alerts(kind)) expect(state).toBe('resolved');
});

test('a lagging tap and a failing job are reported', async () => {
  await fixture.query(
    `INSERT INTO tap (name, after_xid, after_id, last_error) VALUES ('far/away', '1', 0, 'connection refused')`,
  );
  await fixture.query(
    `INSERT INTO tap_outbox (request_id, created_at, settled_at)
     VALUES (gen_random_uuid(), now(), now() - interval '6 minutes')`,
  );
  await fixture.query(
    `INSERT INTO repeating_job (name, cron, due_at, succeed_by, failures)
     VALUES ('ext/report', '0 * * * *', now(), now() - interval '1 minute', 3)`,
  );
  await fixture.poll();
  expect(await fixture.alerts('tap-behind')).toMatchObject([
    { subject: 'far/away', facts: { error: 'connection refused' } },
  ]);
  expect(await fixture.alerts('job-overdue')).toMatchObject([
    { subject: 'ext/report', severity: 'urgent', facts: { failures: 3 } },
  ]);
  await fixture.query('DELETE FROM tap');
  await fixture.query(`DELETE FROM repeating_job WHERE name = 'ext/report'`);
});

test('nodes report disk and journal, and a node that is gone is no longer checked', async () => {
  await fixture.getService(NodeWatch).recordState();
  const [own] = await fixture.query<{ disk_free: number; journal_ms: string }>('SELECT * FROM node_state');
  expect(own!.disk_free).toBeGreaterThan(0);
  expect(own!.journal_ms).toBe('0');
  await fixture.query('DELETE FROM node_state');
  await fixture.query(
    `INSERT INTO node_state (node, seen_at, disk_free, disk_free_bytes, journal_ms)
     VALUES ('slow', now(), 0.5, 1, 180000), ('gone', now() - interval '6 minutes', 0.01, 1, 999999)`,
  );
  await fixture.poll();
  expect(await fixture.alerts('journal-old')).toMatchObject([{ subject: 'slow', facts: { minutes: 3 } }]);
  expect(await fixture.alerts('disk-low')).toEqual([]);
  await fixture.getService(NodeWatch).recordState();
  const text = await fixture.getService(Metrics).text();
  expect(text).toContain('gateway_alerts_firing{kind="journal-old",severity="urgent"} 1');
  expect(text).toMatch(/gateway_alert_deliveries_total\{channel="mail",outcome="delivered"\} \d/);
});

test('an alert stays open when its check fails', async () => {
  await insertIncident('credential', 0);
  await fixture.poll();
  const owner = new Client(fixture.portal.app.environment['MIGRATION_DATABASE_URL']);
  await owner.connect();
  try {
    await owner.query('ALTER TABLE incident RENAME TO incident_away');
    await fixture.poll(10 * MINUTE_MS);
    await fixture.poll(10 * MINUTE_MS);
    expect(await fixture.alerts('supplier-refuses')).toMatchObject([{ state: 'firing' }]);
  } finally {
    await owner.query('ALTER TABLE incident_away RENAME TO incident');
    await owner.end();
  }
});

test('alerts resolved long ago are deleted', async () => {
  await fixture.query(
    `INSERT INTO alert (kind, subject, severity, facts, since, seen_at, resolved_at)
     SELECT 'disk-low', n::text, 'urgent', '{}', now() - n * interval '1 day', now() - n * interval '1 day',
            now() - n * interval '1 day' FROM unnest(ARRAY[399, 401]) AS n`,
  );
  await fixture.poll(2 * HOUR_MS);
  expect((await fixture.alerts('disk-low')).map(({ subject }) => subject)).toEqual(['399']);
});

test('the list can be paged and filtered as a page, JSON and a file', async () => {
  await fixture.query(
    `INSERT INTO alert (kind, subject, severity, facts, since, seen_at, resolved_at)
     SELECT 'disk-low', 'node ' || n, 'urgent', jsonb_build_object('node', 'node ' || n, 'percent', 3, 'gibibytes', 1),
            now() - n * interval '1 minute', now(), CASE WHEN n > 40 THEN now() END
       FROM generate_series(1, 100) AS n`,
  );
  const page = async (query: string) =>
    (await fixture.portal.get(platformOwner, `${ALERTS_PATH}${query}`)).text;
  const openPage = await page('');
  expect(openPage.match(/Disk nearly full<\/a>/g)).toHaveLength(40);
  const firstPage = await page('?state=all');
  expect(firstPage.match(/Disk nearly full<\/a>/g)).toHaveLength(50);
  expect(firstPage).toContain('cursor');
  expect(await page('?state=resolved&severity=info')).toContain('Nothing matches these filters');
  const json = await fixture.portal.get(platformOwner, `${ALERTS_PATH}?state=resolved&format=json`);
  expect(json.body).toMatchObject({
    object: 'list',
    data: expect.arrayContaining([expect.objectContaining({ kind: 'disk-low' })]),
  });
  const file = await fixture.portal.get(platformOwner, `${ALERTS_PATH}/export?state=all`);
  expect(file.text.trim().split('\n')).toHaveLength(101);
  expect((await fixture.portal.get(await fixture.portal.person('user'), ALERTS_PATH)).status).toBe(403);
  expect((await fixture.portal.get(platformOwner, `${ALERTS_PATH}/999999`)).status).toBe(404);
});

test('the link in a message opens its alert regardless of the filters of the user', async () => {
  const row = (organisation: number | null) =>
    fixture.portal.row<{ id: string }>(
      `INSERT INTO alert (organisation_id, kind, subject, severity, facts, since, seen_at)
       VALUES ($1, 'disk-low', 'linked', 'urgent', '{"node": "linked", "percent": 3, "gibibytes": 1}', now(), now())
       RETURNING id`,
      [organisation],
    );
  const reader = await fixture.portal.person('platform_owner');
  const [ours, others] = [await row(null), await row(fixture.portal.ownOrganisation)];
  await fixture.portal.post(reader, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  await fixture.portal.post(reader, '/dashboard/set-admin-org', { org_id: fixture.portal.ownOrganisation });
  for (const { id } of [ours, others]) {
    expect((await fixture.portal.get(reader, `${ALERTS_PATH}/${id}`)).status).toBe(200);
    expect((await fixture.portal.post(reader, `${ALERTS_PATH}/${id}/acknowledge`)).status).toBe(200);
  }
  const otherAdmin = await fixture.portal.person('org_admin');
  expect((await fixture.portal.get(otherAdmin, `${ALERTS_PATH}/${ours.id}`)).status).toBe(404);
  expect((await fixture.portal.get(otherAdmin, `${ALERTS_PATH}/${others.id}`)).status).toBe(200);
});

test('messages wait and report an error when the master key of their address is missing', async () => {
  await fixture.createChannel(platformOwner, 'slack');
  await fixture.query(
    `UPDATE alert_channel SET secret = set_byte(secret, length(secret) - 20, get_byte(secret, length(secret) - 20) # 1)
      WHERE kind = 'slack'`,
  );
  await fixture.reportDisk(0.02);
  await fixture.poll();
  await fixture.deliver(MINUTE_MS);
  const [row] = await fixture.query<{ outcome: string | null; last_error: string }>(
    `SELECT d.outcome, d.last_error FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
      WHERE c.kind = 'slack' ORDER BY d.attempts DESC LIMIT 1`,
  );
  expect(row).toEqual({ outcome: null, last_error: 'the master key that sealed its address is missing' });
  await fixture.query(`DELETE FROM alert_channel WHERE kind = 'slack'`);
});
