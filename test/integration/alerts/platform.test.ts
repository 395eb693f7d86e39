import { Client } from 'pg';
import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { Metrics } from '#product/platform';
import { NodeWatch } from '#product/alerts';
import { written } from '../../support/a-record';
import { addKey } from '../../support/people';
import { chatRecord } from '../../support/records';
import type { Person } from '../admin/house';
import { AlertHouse, HOUR, MINUTE, PATH } from './alert-house';

let house: AlertHouse;
let platform: Person;
let userId: number;
let keyId: number;

beforeAll(async () => {
  house = await AlertHouse.open();
  platform = await house.house.person('platform_owner');
  const customer = await house.house.person('org_owner');
  userId = customer.id;
  keyId = (await addKey(house.house.app, userId)).id;
});
afterAll(() => house.close());
beforeEach(async () => {
  // Every kind was looked for an hour ago, so that each is due again.
  house.now = Date.now() - HOUR;
  await house.pass(0);
  house.now = Date.now();
  for (const table of ['alert', 'node_state', 'incident']) await house.query(`DELETE FROM ${table}`);
});

const put = (count: number, fields: Partial<RequestRecord>): Promise<unknown> => {
  const records = Array.from({ length: count }, () =>
    chatRecord(userId, keyId, { costNano: 0n, createdAt: new Date(), ...fields }),
  );
  return house.house.app.database.transaction((tx) => insertRequestRecords(tx, records.map(written)), {
    withoutActivity: 'a test',
  });
};

const incident = (kind: string, minutesAgo: number, more: { provider?: string; model?: string } = {}) =>
  house.query(
    `INSERT INTO incident (kind, provider, model, region, cause, started_at, last_seen_at)
     VALUES ($1, $2, $3, 'eu', 'timeout', now() - $4 * interval '1 minute', now())`,
    [kind, more.provider ?? 'north', more.model ?? 'alpha', minutesAgo],
  );

test('a refused key is told at once, a lane and a seal when they have been so for long', async () => {
  await incident('credential', 0);
  await incident('lane', 3);
  await incident('lane', 6, { model: 'beta' });
  await incident('seal', 1);
  await house.pass();
  expect(await house.alerts('supplier-refuses')).toMatchObject([{ severity: 'urgent', state: 'firing' }]);
  // The look is a minute ahead.
  expect((await house.alerts('lane-open')).map(({ subject }) => subject)).toEqual(['north beta eu']);
  expect(await house.alerts('seal-late')).toHaveLength(1);
  await house.query('UPDATE incident SET ended_at = now()');
  await house.pass();
  await house.pass(6 * MINUTE);
  for (const kind of ['supplier-refuses', 'lane-open', 'seal-late'])
    for (const { state } of await house.alerts(kind)) expect(state).toBe('resolved');
});

test('models that fail or begin late are told by what records say', async () => {
  await put(16, { model: 'flaky', servedModel: 'flaky', status: 200, firstTokenMs: null });
  await put(5, {
    model: 'flaky',
    servedModel: null,
    status: 502,
    code: 'supplier_error',
    firstTokenMs: null,
  });
  await put(19, {
    model: 'rare',
    servedModel: null,
    status: 502,
    code: 'supplier_error',
    firstTokenMs: null,
  });
  await put(40, {
    model: 'clumsy',
    servedModel: null,
    status: 422,
    code: 'validation_error',
    firstTokenMs: null,
  });
  await put(30, { model: 'brisk', servedModel: 'brisk', firstTokenMs: 300 });
  await put(3, { model: 'brisk', servedModel: 'brisk', firstTokenMs: 30_000 });
  await put(28, { model: 'sluggish', servedModel: 'sluggish', firstTokenMs: 400 });
  await put(2, { model: 'sluggish', servedModel: 'sluggish', firstTokenMs: 30_000 });
  await house.pass();
  expect(await house.alerts('error-rate')).toMatchObject([
    { subject: 'flaky', severity: 'urgent', facts: { percent: 24, requests: 21, minutes: 5 } },
  ]);
  expect((await house.alerts('latency')).map(({ subject }) => subject).sort()).toEqual(['brisk', 'sluggish']);
  await house.pass(16 * MINUTE);
  await house.pass(16 * MINUTE);
  for (const kind of ['error-rate', 'latency'])
    for (const { state } of await house.alerts(kind)) expect(state).toBe('resolved');
});

test('a tap that waits and a job that does not succeed are told', async () => {
  await house.query(
    `INSERT INTO tap (name, after_xid, after_id, last_error) VALUES ('far/away', '1', 0, 'connection refused')`,
  );
  await house.query(
    `INSERT INTO tap_outbox (request_id, created_at, settled_at)
     VALUES (gen_random_uuid(), now(), now() - interval '6 minutes')`,
  );
  await house.query(
    `INSERT INTO repeating_job (name, cron, due_at, succeed_by, failures)
     VALUES ('ext/report', '0 * * * *', now(), now() - interval '1 minute', 3)`,
  );
  await house.pass();
  expect(await house.alerts('tap-behind')).toMatchObject([
    { subject: 'far/away', facts: { error: 'connection refused' } },
  ]);
  expect(await house.alerts('job-overdue')).toMatchObject([
    { subject: 'ext/report', severity: 'urgent', facts: { failures: 3 } },
  ]);
  await house.query('DELETE FROM tap');
  await house.query(`DELETE FROM repeating_job WHERE name = 'ext/report'`);
});

test('nodes tell of their disk and journal; one that is gone is judged no more', async () => {
  await house.service(NodeWatch).recordState();
  const [own] = await house.query<{ disk_free: number; journal_ms: string }>('SELECT * FROM node_state');
  expect(own!.disk_free).toBeGreaterThan(0);
  expect(own!.journal_ms).toBe('0');
  await house.query('DELETE FROM node_state');
  await house.query(
    `INSERT INTO node_state (node, seen_at, disk_free, disk_free_bytes, journal_ms)
     VALUES ('slow', now(), 0.5, 1, 180000), ('gone', now() - interval '6 minutes', 0.01, 1, 999999)`,
  );
  await house.pass();
  expect(await house.alerts('journal-old')).toMatchObject([{ subject: 'slow', facts: { minutes: 3 } }]);
  expect(await house.alerts('disk-low')).toEqual([]);
  await house.service(NodeWatch).recordState();
  const text = await house.service(Metrics).text();
  expect(text).toContain('gateway_alerts_firing{kind="journal-old",severity="urgent"} 1');
  expect(text).toMatch(/gateway_alert_deliveries_total\{channel="mail",outcome="delivered"\} \d/);
});

test('nothing is over because it could not be looked for', async () => {
  await incident('credential', 0);
  await house.pass();
  const owner = new Client(house.house.app.environment['MIGRATION_DATABASE_URL']);
  await owner.connect();
  try {
    await owner.query('ALTER TABLE incident RENAME TO incident_away');
    await house.pass(10 * MINUTE);
    await house.pass(10 * MINUTE);
    expect(await house.alerts('supplier-refuses')).toMatchObject([{ state: 'firing' }]);
  } finally {
    await owner.query('ALTER TABLE incident_away RENAME TO incident');
    await owner.end();
  }
});

test('what is long over is forgotten', async () => {
  await house.query(
    `INSERT INTO alert (kind, subject, severity, facts, since, seen_at, resolved_at)
     SELECT 'disk-low', n::text, 'urgent', '{}', now() - n * interval '1 day', now() - n * interval '1 day',
            now() - n * interval '1 day' FROM unnest(ARRAY[399, 401]) AS n`,
  );
  await house.pass(2 * HOUR);
  expect((await house.alerts('disk-low')).map(({ subject }) => subject)).toEqual(['399']);
});

test('the list is paged and filtered, as a page, as JSON and as a file', async () => {
  await house.query(
    `INSERT INTO alert (kind, subject, severity, facts, since, seen_at, resolved_at)
     SELECT 'disk-low', 'node ' || n, 'urgent', jsonb_build_object('node', 'node ' || n, 'percent', 3, 'gibibytes', 1),
            now() - n * interval '1 minute', now(), CASE WHEN n > 40 THEN now() END
       FROM generate_series(1, 100) AS n`,
  );
  const page = async (query: string) => (await house.house.get(platform, `${PATH}${query}`)).text;
  const open = await page('');
  expect(open.match(/Disk nearly full<\/a>/g)).toHaveLength(40);
  const first = await page('?state=all');
  expect(first.match(/Disk nearly full<\/a>/g)).toHaveLength(50);
  expect(first).toContain('cursor');
  expect(await page('?state=resolved&severity=info')).toContain('Nothing matches these filters');
  const json = await house.house.get(platform, `${PATH}?state=resolved&format=json`);
  expect(json.body).toMatchObject({
    object: 'list',
    data: expect.arrayContaining([expect.objectContaining({ kind: 'disk-low' })]),
  });
  const file = await house.house.get(platform, `${PATH}/export?state=all`);
  expect(file.text.trim().split('\n')).toHaveLength(101);
  expect((await house.house.get(await house.house.person('user'), PATH)).status).toBe(403);
  expect((await house.house.get(platform, `${PATH}/999999`)).status).toBe(404);
});

test('the link of a message opens its alert, whatever its reader has chosen to look at', async () => {
  const row = (organisation: number | null) =>
    house.house.row<{ id: string }>(
      `INSERT INTO alert (organisation_id, kind, subject, severity, facts, since, seen_at)
       VALUES ($1, 'disk-low', 'linked', 'urgent', '{"node": "linked", "percent": 3, "gibibytes": 1}', now(), now())
       RETURNING id`,
      [organisation],
    );
  const reader = await house.house.person('platform_owner');
  const [ours, others] = [await row(null), await row(house.house.ours)];
  await house.house.post(reader, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  await house.house.post(reader, '/dashboard/set-admin-org', { org_id: house.house.ours });
  for (const { id } of [ours, others]) {
    expect((await house.house.get(reader, `${PATH}/${id}`)).status).toBe(200);
    expect((await house.house.post(reader, `${PATH}/${id}/acknowledge`)).status).toBe(200);
  }
  const neighbour = await house.house.person('org_admin');
  expect((await house.house.get(neighbour, `${PATH}/${ours.id}`)).status).toBe(404);
  expect((await house.house.get(neighbour, `${PATH}/${others.id}`)).status).toBe(200);
});

test('without the master key of its address, messages wait and say so', async () => {
  await house.channel(platform, 'slack');
  await house.query(
    `UPDATE alert_channel SET secret = set_byte(secret, length(secret) - 20, get_byte(secret, length(secret) - 20) # 1)
      WHERE kind = 'slack'`,
  );
  await house.disk(0.02);
  await house.pass();
  await house.deliver(MINUTE);
  const [row] = await house.query<{ outcome: string | null; last_error: string }>(
    `SELECT d.outcome, d.last_error FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
      WHERE c.kind = 'slack' ORDER BY d.attempts DESC LIMIT 1`,
  );
  expect(row).toEqual({ outcome: null, last_error: 'the master key that sealed its address is missing' });
  await house.query(`DELETE FROM alert_channel WHERE kind = 'slack'`);
});
