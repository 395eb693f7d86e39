import { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';
import { freeRecord, settle, SENDER, tapRow } from '../extensions/tap-fixture';
import { PortalFixture, type Person } from './portal-fixture';

const PATH = '/dashboard/admin/extensions/taps';

let sink: TapSink;
let fixture: PortalFixture;
let platformAdmin: Person;
beforeAll(async () => {
  sink = await TapSink.open();
  fixture = await PortalFixture.open({ environment: { EXTENSIONS: SENDER, EXT_SENDER_URL: sink.url } });
  platformAdmin = await fixture.person('platform_admin');
});
beforeEach(() => {
  sink.behaviour = () => 200;
  sink.batches.length = 0;
  sink.accepted.length = 0;
});
afterAll(async () => {
  await fixture.close();
  await sink.close();
});

const page = (query = ''): Promise<{ status: number; text: string }> =>
  fixture.get(platformAdmin, `${PATH}${query}`);
const lastEntry = () =>
  fixture.row<object>(
    `SELECT action, object_type, object_id, reason, changes FROM activity
      WHERE action LIKE 'tap.%' ORDER BY id DESC LIMIT 1`,
    [],
  );

/** Creates dead letters, as a tap that rejects records does. */
async function createDeadLetters(count: number): Promise<string[]> {
  const records = Array.from({ length: count }, () => freeRecord(1));
  await settle(fixture.app, records);
  await until(() => sink.accepted.length >= count);
  const ids = records.map(({ requestId }) => requestId);
  await fixture.app.database.query(
    `INSERT INTO tap_dead_letter (tap, request_id, created_at, error)
     SELECT 'sender/all', request_id, created_at, 'it said no' FROM request_record WHERE request_id = ANY($1)
      ORDER BY created_at, request_id`,
    [ids],
  );
  sink.accepted.length = 0;
  return ids;
}

const deadLetters = (): Promise<{ id: string; request_id: string }[]> =>
  fixture.app.database.query('SELECT id, request_id FROM tap_dead_letter ORDER BY id');

test('the page shows the state of the taps and is available to platform operators only', async () => {
  await fixture.app.database.query(
    "INSERT INTO tap (name, after_xid, after_id) VALUES ('gone/away', '1', 0) ON CONFLICT DO NOTHING",
  );
  const { status, text } = await page();
  expect(status).toBe(200);
  expect(text).toContain('sender/all');
  expect(text).toContain('Working');
  expect(text).toContain('No longer listed');
  expect((await fixture.get(await fixture.person('org_owner'), PATH)).status).toBe(403);
  expect((await page('?tap=nobody/knows')).status).toBe(404);
  expect((await page('?tap=gone/away')).text).toContain(`action="${PATH}/forget"`);
  expect(await fixture.post(platformAdmin, `${PATH}/forget`, { tap: 'gone/away' })).toMatchObject({
    status: 200,
  });
  expect((await page('?tap=gone/away')).status).toBe(404);
  expect(await lastEntry()).toMatchObject({ action: 'tap.forgotten', object_id: 'gone/away' });
});

test('a test has no record to send before the first settlement', async () => {
  expect(await fixture.post(platformAdmin, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    status: 200,
    body: { ok: false, error: 'nothing settled' },
  });
  expect(sink.batches).toEqual([]);
});

test('a test sends the newest stored record, marked as a test, and shows the response', async () => {
  const [older, newest] = [freeRecord(1, { createdAt: new Date(Date.now() - 60_000) }), freeRecord(1)];
  await settle(fixture.app, [newest, older]);
  await until(() => sink.accepted.length === 2);
  sink.accepted.length = 0;
  expect(await fixture.post(platformAdmin, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    status: 200,
    body: { ok: true, error: null, request_id: newest.requestId },
  });
  expect(sink.accepted).toMatchObject([{ request_id: newest.requestId, test: true }]);
  sink.behaviour = () => 500;
  expect(await fixture.post(platformAdmin, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    body: { ok: false, error: 'the sink said 500 Bearer [redacted]' },
  });
  expect(await lastEntry()).toMatchObject({
    action: 'tap.tested',
    object_type: 'tap',
    object_id: 'sender/all',
    reason: 'the sink said 500 Bearer [redacted]',
  });
  expect((await fixture.post(platformAdmin, `${PATH}/test`, { tap: 'nobody/knows' })).status).toBe(404);
  expect((await tapRow(fixture.app)).failures).toBe(0);
});

test('dead letters are listed in pages, and sent again or dropped', async () => {
  const ids = await createDeadLetters(25);
  const firstPage = await page('?tap=sender/all');
  expect(firstPage.text).toContain(ids[0]);
  expect(firstPage.text).toContain('it said no');
  expect(firstPage.text).not.toContain(ids[24]);
  const [, next] = /href="([^"]*cursor[^"]*)"/.exec(firstPage.text) ?? [];
  const secondPage = await fixture.get(
    platformAdmin,
    (next ?? '').replaceAll('&amp;', '&').replaceAll('&#x3D;', '='),
  );
  expect(secondPage.text).toContain(ids[24]);

  const [one, two, three] = await deadLetters();
  const drop = { tap: 'sender/all', letter_id: Number(one!.id) };
  expect(await fixture.post(platformAdmin, `${PATH}/drop`, drop)).toMatchObject({
    status: 200,
    body: { letters: 1 },
  });
  expect((await fixture.post(platformAdmin, `${PATH}/drop`, drop)).status).toBe(404);
  expect(await lastEntry()).toMatchObject({ action: 'tap.letters-dropped', changes: { count: [null, 1] } });

  const replay = { tap: 'sender/all', letter_id: two!.id };
  const replayResponse = await fixture.submit(
    platformAdmin,
    `${PATH}?tap=sender/all`,
    `${PATH}/replay`,
    replay,
  );
  expect(replayResponse.status).toBe(303);
  await until(() => sink.accepted.length === 1);
  expect(sink.ids).toEqual([two!.request_id]);

  sink.behaviour = () => 422;
  await fixture.post(platformAdmin, `${PATH}/replay`, { tap: 'sender/all', letter_id: Number(three!.id) });
  await until(async () => {
    const [row] = await fixture.app.database.query<{ error: string }>(
      'SELECT error FROM tap_dead_letter WHERE id = $1 AND replay_at IS NULL',
      [three!.id],
    );
    return row?.error === 'the sink said 422 Bearer [redacted]';
  });

  sink.behaviour = () => 200;
  sink.accepted.length = 0;
  expect(await fixture.post(platformAdmin, `${PATH}/replay`, { tap: 'sender/all' })).toMatchObject({
    body: { letters: 23 },
  });
  await until(async () => (await deadLetters()).length === 0);
  expect(new Set(sink.ids)).toEqual(new Set(ids.filter((id) => ![ids[0], ids[1]].includes(id))));
  expect((await fixture.post(platformAdmin, `${PATH}/replay`, { tap: 'sender/all' })).status).toBe(404);
});

test('all dead letters of a tap are dropped in one action', async () => {
  await createDeadLetters(3);
  expect((await page('?tap=sender/all')).text).toContain('Drop all dead letters');
  expect(await fixture.post(platformAdmin, `${PATH}/drop`, { tap: 'sender/all' })).toMatchObject({
    body: { letters: 3 },
  });
  expect(await deadLetters()).toEqual([]);
  expect((await fixture.post(platformAdmin, `${PATH}/drop`, { tap: 'sender/all' })).status).toBe(404);
});

test('a built-in sink shows its type and destination without secrets', async () => {
  const environment = {
    SINKS: `tried=datadog:${sink.url.replace('/records', '')}#every=1h`,
    SINK_SECRETS: 'tried=0123456789abcdef0123456789abcdef',
    HTTP_TAPS: `siem=${sink.url}?token=in-the-address`,
    HTTP_TAP_SECRETS: `siem=whsec_${Buffer.alloc(24, 1).toString('base64')}`,
  };
  const otherFixture = await PortalFixture.open({ environment });
  try {
    const operator = await otherFixture.person('platform_admin');
    const { text } = await otherFixture.get(operator, `${PATH}?tap=datadog/tried`);
    for (const expectedText of [
      'Datadog logs',
      `${sink.url.replace('/records', '')}/api/v2/logs`,
      'Signed webhook',
      '0 seconds',
    ])
      expect(text).toContain(expectedText);
    for (const secret of ['0123456789abcdef', 'in-the-address', environment.HTTP_TAP_SECRETS.slice(5)])
      expect(text).not.toContain(secret);
  } finally {
    await otherFixture.close();
  }
});

// The receiver repeats the request address in its response.
test('the address of an HTTP tap appears nowhere when its receiver repeats it, and tests are limited to five a minute', async () => {
  const SECRET = 'S3cretT0ken';
  const url = `${sink.url.replace('/records', '')}/in/${SECRET}?sig=${SECRET}-2`;
  const ownFixture = await PortalFixture.open({
    environment: {
      HTTP_TAPS: `siem=${url}`,
      HTTP_TAP_SECRETS: `siem=whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    },
  });
  try {
    const operator = await ownFixture.person('platform_admin');
    await settle(ownFixture.app, [freeRecord(1)]);
    sink.behaviour = () => ({
      status: 404,
      headers: {},
      body: JSON.stringify({ error: `${'x'.repeat(190)} Cannot POST /in/${SECRET}?sig=${SECRET}-2` }),
    });
    const sendTest = () => ownFixture.post(operator, `${PATH}/test`, { tap: 'http/siem' });
    const testResponse = await sendTest();
    expect(testResponse.body).toMatchObject({ ok: false, error: expect.stringContaining('404') as string });
    const { text } = await ownFixture.get(operator, `${PATH}?tap=http/siem`);
    const rows = await ownFixture.app.database.query<object>(
      `SELECT row_to_json(a)::text AS text FROM activity a WHERE action = 'tap.tested'
       UNION ALL SELECT last_error FROM tap`,
    );
    expect(rows.length).toBeGreaterThan(1);
    for (const output of [JSON.stringify(testResponse.body), text, JSON.stringify(rows)])
      expect(output).not.toContain(SECRET.slice(0, 6));

    for (let count = 1; count < 5; count += 1) expect((await sendTest()).status).toBe(200);
    expect((await sendTest()).status).toBe(429);
  } finally {
    await ownFixture.close();
  }
});
