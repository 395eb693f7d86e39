import { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';
import { free, settle, SENDER, tapRow } from '../extensions/tap-house';
import { House, type Person } from './house';

const PATH = '/dashboard/admin/extensions/taps';

let sink: TapSink;
let house: House;
let platform: Person;
beforeAll(async () => {
  sink = await TapSink.open();
  house = await House.open({ environment: { EXTENSIONS: SENDER, EXT_SENDER_URL: sink.url } });
  platform = await house.person('platform_admin');
});
beforeEach(() => {
  sink.behaviour = () => 200;
  sink.batches.length = 0;
  sink.accepted.length = 0;
});
afterAll(async () => {
  await house.close();
  await sink.close();
});

const page = (query = ''): Promise<{ status: number; text: string }> =>
  house.get(platform, `${PATH}${query}`);
const lastEntry = () =>
  house.row<object>(
    `SELECT action, object_type, object_id, reason, changes FROM activity
      WHERE action LIKE 'tap.%' ORDER BY id DESC LIMIT 1`,
    [],
  );

/** As a tap leaves records that it does not take. */
async function bury(count: number): Promise<string[]> {
  const records = Array.from({ length: count }, () => free(1));
  await settle(house.app, records);
  await until(() => sink.accepted.length >= count);
  const ids = records.map(({ requestId }) => requestId);
  await house.app.database.query(
    `INSERT INTO tap_dead_letter (tap, request_id, created_at, error)
     SELECT 'sender/all', request_id, created_at, 'it said no' FROM request_record WHERE request_id = ANY($1)
      ORDER BY created_at, request_id`,
    [ids],
  );
  sink.accepted.length = 0;
  return ids;
}

const letters = (): Promise<{ id: string; request_id: string }[]> =>
  house.app.database.query('SELECT id, request_id FROM tap_dead_letter ORDER BY id');

test('the page shows where taps stand, and is for the operators of the platform alone', async () => {
  await house.app.database.query(
    "INSERT INTO tap (name, after_xid, after_id) VALUES ('gone/away', '1', 0) ON CONFLICT DO NOTHING",
  );
  const { status, text } = await page();
  expect(status).toBe(200);
  expect(text).toContain('sender/all');
  expect(text).toContain('Working');
  expect(text).toContain('No longer listed');
  expect((await house.get(await house.person('org_owner'), PATH)).status).toBe(403);
  expect((await page('?tap=nobody/knows')).status).toBe(404);
  expect((await page('?tap=gone/away')).text).toContain(`action="${PATH}/forget"`);
  expect(await house.post(platform, `${PATH}/forget`, { tap: 'gone/away' })).toMatchObject({ status: 200 });
  expect((await page('?tap=gone/away')).status).toBe(404);
  expect(await lastEntry()).toMatchObject({ action: 'tap.forgotten', object_id: 'gone/away' });
});

test('where nothing was settled yet, a test has nothing to send', async () => {
  expect(await house.post(platform, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    status: 200,
    body: { ok: false, error: 'nothing settled' },
  });
  expect(sink.batches).toEqual([]);
});

test('a test sends the newest record that is stored, says that it is one, and shows the answer', async () => {
  const [older, newest] = [free(1, { createdAt: new Date(Date.now() - 60_000) }), free(1)];
  await settle(house.app, [newest, older]);
  await until(() => sink.accepted.length === 2);
  sink.accepted.length = 0;
  expect(await house.post(platform, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    status: 200,
    body: { ok: true, error: null, request_id: newest.requestId },
  });
  expect(sink.accepted).toMatchObject([{ request_id: newest.requestId, test: true }]);
  sink.behaviour = () => 500;
  expect(await house.post(platform, `${PATH}/test`, { tap: 'sender/all' })).toMatchObject({
    body: { ok: false, error: 'the sink said 500 Bearer [redacted]' },
  });
  expect(await lastEntry()).toMatchObject({
    action: 'tap.tested',
    object_type: 'tap',
    object_id: 'sender/all',
    reason: 'the sink said 500 Bearer [redacted]',
  });
  expect((await house.post(platform, `${PATH}/test`, { tap: 'nobody/knows' })).status).toBe(404);
  expect((await tapRow(house.app)).failures).toBe(0);
});

test('dead letters are listed page by page, sent again or dropped', async () => {
  const ids = await bury(25);
  const first = await page('?tap=sender/all');
  expect(first.text).toContain(ids[0]);
  expect(first.text).toContain('it said no');
  expect(first.text).not.toContain(ids[24]);
  const [, next] = /href="([^"]*cursor[^"]*)"/.exec(first.text) ?? [];
  const second = await house.get(platform, (next ?? '').replaceAll('&amp;', '&').replaceAll('&#x3D;', '='));
  expect(second.text).toContain(ids[24]);

  const [one, two, three] = await letters();
  const drop = { tap: 'sender/all', letter_id: Number(one!.id) };
  expect(await house.post(platform, `${PATH}/drop`, drop)).toMatchObject({
    status: 200,
    body: { letters: 1 },
  });
  expect((await house.post(platform, `${PATH}/drop`, drop)).status).toBe(404);
  expect(await lastEntry()).toMatchObject({ action: 'tap.letters-dropped', changes: { count: [null, 1] } });

  const replay = { tap: 'sender/all', letter_id: two!.id };
  const sent = await house.submit(platform, `${PATH}?tap=sender/all`, `${PATH}/replay`, replay);
  expect(sent.status).toBe(303);
  await until(() => sink.accepted.length === 1);
  expect(sink.ids).toEqual([two!.request_id]);

  sink.behaviour = () => 422;
  await house.post(platform, `${PATH}/replay`, { tap: 'sender/all', letter_id: Number(three!.id) });
  await until(async () => {
    const [row] = await house.app.database.query<{ error: string }>(
      'SELECT error FROM tap_dead_letter WHERE id = $1 AND replay_at IS NULL',
      [three!.id],
    );
    return row?.error === 'the sink said 422 Bearer [redacted]';
  });

  sink.behaviour = () => 200;
  sink.accepted.length = 0;
  expect(await house.post(platform, `${PATH}/replay`, { tap: 'sender/all' })).toMatchObject({
    body: { letters: 23 },
  });
  await until(async () => (await letters()).length === 0);
  expect(new Set(sink.ids)).toEqual(new Set(ids.filter((id) => ![ids[0], ids[1]].includes(id))));
  expect((await house.post(platform, `${PATH}/replay`, { tap: 'sender/all' })).status).toBe(404);
});

test('all dead letters are dropped at once', async () => {
  await bury(3);
  expect((await page('?tap=sender/all')).text).toContain('Drop all dead letters');
  expect(await house.post(platform, `${PATH}/drop`, { tap: 'sender/all' })).toMatchObject({
    body: { letters: 3 },
  });
  expect(await letters()).toEqual([]);
  expect((await house.post(platform, `${PATH}/drop`, { tap: 'sender/all' })).status).toBe(404);
});

test('a sink of the service says what it is and where it sends, without its secrets', async () => {
  const environment = {
    SINKS: `tried=datadog:${sink.url.replace('/records', '')}#every=1h`,
    SINK_SECRETS: 'tried=0123456789abcdef0123456789abcdef',
    HTTP_TAPS: `siem=${sink.url}?token=in-the-address`,
    HTTP_TAP_SECRETS: `siem=whsec_${Buffer.alloc(24, 1).toString('base64')}`,
  };
  const other = await House.open({ environment });
  try {
    const operator = await other.person('platform_admin');
    const { text } = await other.get(operator, `${PATH}?tap=datadog/tried`);
    for (const shown of [
      'Datadog logs',
      `${sink.url.replace('/records', '')}/api/v2/logs`,
      'Signed webhook',
      '0 seconds',
    ])
      expect(text).toContain(shown);
    for (const secret of ['0123456789abcdef', 'in-the-address', environment.HTTP_TAP_SECRETS.slice(5)])
      expect(text).not.toContain(secret);
  } finally {
    await other.close();
  }
});

// A tap's receiver that repeats its address.
test('the address of an HTTP tap appears nowhere when its receiver repeats it, and tests are limited to five a minute', async () => {
  const SECRET = 'S3cretT0ken';
  const url = `${sink.url.replace('/records', '')}/in/${SECRET}?sig=${SECRET}-2`;
  const own = await House.open({
    environment: {
      HTTP_TAPS: `siem=${url}`,
      HTTP_TAP_SECRETS: `siem=whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    },
  });
  try {
    const operator = await own.person('platform_admin');
    await settle(own.app, [free(1)]);
    sink.behaviour = () => ({
      status: 404,
      headers: {},
      body: JSON.stringify({ error: `${'x'.repeat(190)} Cannot POST /in/${SECRET}?sig=${SECRET}-2` }),
    });
    const sendTest = () => own.post(operator, `${PATH}/test`, { tap: 'http/siem' });
    const tested = await sendTest();
    expect(tested.body).toMatchObject({ ok: false, error: expect.stringContaining('404') as string });
    const { text } = await own.get(operator, `${PATH}?tap=http/siem`);
    const rows = await own.app.database.query<object>(
      `SELECT row_to_json(a)::text AS text FROM activity a WHERE action = 'tap.tested'
       UNION ALL SELECT last_error FROM tap`,
    );
    expect(rows.length).toBeGreaterThan(1);
    for (const told of [JSON.stringify(tested.body), text, JSON.stringify(rows)])
      expect(told).not.toContain(SECRET.slice(0, 6));

    for (let count = 1; count < 5; count += 1) expect((await sendTest()).status).toBe(200);
    expect((await sendTest()).status).toBe(429);
  } finally {
    await own.close();
  }
});
