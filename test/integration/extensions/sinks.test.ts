import { gunzipSync } from 'node:zlib';
import type { SettledRecord } from '#extension';
import { startTestApp, type TestApp } from '../../support/app';
import { ObjectStoreStandIn } from '../../support/object-store';
import { type Vendor, VendorRefusal, VendorStandIn } from '../../support/sinks/stand-in';
import { datadogVendor, langfuseVendor, otlpVendor } from '../../support/sinks/vendors';
import { createTestDatabase, inSession } from '../../support/postgres';
import { until } from '../../support/until';
import { setTapFailures, freeRecord, settle, tapRow } from './tap-fixture';

const OTLP_KEY = 'token-of-the-collector-1';
const LANGFUSE_KEY = 'pk-lf-1234567890:sk-lf-abcdefghij';
const DATADOG_KEY = '0123456789abcdef0123456789abcdef';

interface SinkFixture {
  readonly app: TestApp;
  readonly vendor: VendorStandIn;
  readonly tap: string;
}

const close = async ({ app, vendor }: SinkFixture): Promise<void> => {
  await app.close();
  await vendor.close();
};
const hasStored = (fixture: SinkFixture, ids: readonly string[]): boolean =>
  ids.every((id) => fixture.vendor.stored.includes(id));
const countOf = ({ vendor }: SinkFixture, id: string): number =>
  vendor.stored.filter((one) => one === id).length;
const now = ({ app, tap }: SinkFixture) =>
  app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
const deadLetters = ({ app, tap }: SinkFixture): Promise<{ request_id: string; error: string }[]> =>
  app.database.query('SELECT request_id, error FROM tap_dead_letter WHERE tap = $1 ORDER BY id', [tap]);
async function settleRecords({ app }: SinkFixture, count: number): Promise<string[]> {
  const records = Array.from({ length: count }, () => freeRecord(1));
  await settle(app, records);
  return records.map(({ requestId }) => requestId);
}
async function waitForFailure(fixture: SinkFixture): Promise<string> {
  await until(async () => (await tapRow(fixture.app, fixture.tap)).failures > 0);
  return (await tapRow(fixture.app, fixture.tap)).last_error!;
}

const sinkVendors: readonly (readonly [kind: string, vendor: Vendor, key: string, secret: string])[] = [
  ['otlp', otlpVendor, OTLP_KEY, `Authorization: Bearer ${OTLP_KEY}`],
  ['langfuse', langfuseVendor, LANGFUSE_KEY, LANGFUSE_KEY],
  ['datadog', datadogVendor, DATADOG_KEY, DATADOG_KEY],
];

describe.each(sinkVendors)('The sink %s', (kind, judge, key, secret) => {
  let fixture: SinkFixture;
  beforeAll(async () => {
    const vendor = await VendorStandIn.open(judge, key);
    const environment = { SINKS: `there=${kind}:${vendor.url}`, SINK_SECRETS: `there=${secret}` };
    fixture = { app: await startTestApp({ environment }), vendor, tap: `${kind}/there` };
  });
  beforeEach(() => fixture.vendor.heal());
  afterAll(() => close(fixture));

  test('sends every record once in the format of the vendor', async () => {
    const ids = await settleRecords(fixture, 150);
    await until(() => hasStored(fixture, ids));
    expect(fixture.vendor.stored.slice(-150)).toEqual(ids);
    expect(fixture.vendor.requests.every(({ headers }) => headers['content-encoding'] === 'gzip')).toBe(true);
  });

  test.each([
    ['is away', { kind: 'cut-before' } as const, 1],
    ['answers 502', { kind: 'answer', refusal: new VendorRefusal(502, {}) } as const, 1],
    ['answers with a page for people', { kind: 'garbage' } as const, 1],
    ['is cut off after it stored', { kind: 'cut-after' } as const, 2],
  ])('loses no record when the vendor %s', async (_what, fault, times) => {
    fixture.vendor.fail(fault);
    const ids = await settleRecords(fixture, 3);
    await waitForFailure(fixture);
    await now(fixture);
    await until(
      async () => hasStored(fixture, ids) && (await tapRow(fixture.app, fixture.tap)).failures === 0,
    );
    expect(ids.map((id) => countOf(fixture, id))).toEqual([times, times, times]);
    expect(await deadLetters(fixture)).toEqual([]);
  });

  test('waits as long as the Retry-After header of the vendor asks', async () => {
    fixture.vendor.fail({
      kind: 'answer',
      refusal: new VendorRefusal(429, { message: 'slow down' }, { 'retry-after': '120' }),
    });
    await setTapFailures(fixture.app, 7, fixture.tap);
    const ids = await settleRecords(fixture, 2);
    await until(async () => (await tapRow(fixture.app, fixture.tap)).failures === 8);
    const [row] = await fixture.app.database.query<{ seconds: number }>(
      'SELECT extract(epoch FROM due_at - failed_at)::float8 AS seconds FROM tap WHERE name = $1',
      [fixture.tap],
    );
    expect(row!.seconds).toBeGreaterThanOrEqual(120);
    expect(fixture.vendor.stored).not.toContain(ids[0]);
    await now(fixture);
    await until(() => hasStored(fixture, ids));
    expect(await deadLetters(fixture)).toEqual([]);
  });

  test('retries after a wrong key, and reports it without showing it', async () => {
    fixture.vendor.key = 'another-key-1234567890';
    const ids = await settleRecords(fixture, 2);
    const errorText = await waitForFailure(fixture);
    expect(errorText).toMatch(/^it answered with status 40[13]/);
    for (const part of [key, ...key.split(':')]) {
      expect(errorText).not.toContain(part);
      expect(fixture.app.log.join('')).not.toContain(part);
    }
    await setTapFailures(fixture.app, 8, fixture.tap);
    await until(async () => (await tapRow(fixture.app, fixture.tap)).failures === 9);
    expect(await deadLetters(fixture)).toEqual([]);
    fixture.vendor.key = key;
    await now(fixture);
    await until(() => hasStored(fixture, ids));
  });

  test('sets a refused record aside as a dead letter and sends it again on request', async () => {
    const ids = await settlePrepared(fixture, 12, (all) => fixture.vendor.poison.add(all[4]!));
    await until(() =>
      hasStored(
        fixture,
        ids.filter((id) => id !== ids[4]),
      ),
    );
    await until(async () => (await deadLetters(fixture)).length === 1);
    expect(await deadLetters(fixture)).toEqual([
      { request_id: ids[4], error: 'it answered with status 400: one record is malformed' },
    ]);
    expect((await tapRow(fixture.app, fixture.tap)).failures).toBe(0);
    fixture.vendor.heal();
    await fixture.app.database.query('UPDATE tap_dead_letter SET replay_at = now()');
    await until(async () => (await deadLetters(fixture)).length === 0);
    expect(ids.map((id) => countOf(fixture, id))).toEqual(ids.map(() => 1));
  });
});

/** Gives the record ids to `prepare` before the tap can see the records. */
async function settlePrepared(
  fixture: SinkFixture,
  count: number,
  prepare: (ids: string[]) => unknown,
): Promise<string[]> {
  const records = Array.from({ length: count }, () => freeRecord(1));
  const ids = records.map(({ requestId }) => requestId);
  prepare(ids);
  await settle(fixture.app, records);
  return ids;
}

describe.each(sinkVendors.filter(([kind]) => kind !== 'datadog'))(
  'Records that %s accepts in part',
  (kind, judge, key, secret) => {
    let fixture: SinkFixture;
    beforeAll(async () => {
      const vendor = await VendorStandIn.open(judge, key);
      const environment = { SINKS: `there=${kind}:${vendor.url}`, SINK_SECRETS: `there=${secret}` };
      fixture = { app: await startTestApp({ environment }), vendor, tap: `${kind}/there` };
    });
    afterAll(() => close(fixture));

    test('become dead letters that are retried only on request, one at a time', async () => {
      const ids = await settlePrepared(fixture, 3, (all) =>
        fixture.vendor.fail({ kind: 'partly', refuses: (id) => id === all[1] }),
      );
      await until(async () => (await deadLetters(fixture)).length === 3);
      const errorTexts = (await deadLetters(fixture)).map(({ error }) => error);
      expect(errorTexts[0]).toMatch(
        /^it refused 1 of these 3 records without saying which: the (record|span) is/,
      );
      const laterIds = await settleRecords(fixture, 1);
      await until(() => hasStored(fixture, laterIds));
      expect(ids.map((id) => countOf(fixture, id))).toEqual([1, 0, 1]);
      fixture.vendor.fail({ kind: 'partly', refuses: () => true });
      await fixture.app.database.query('UPDATE tap_dead_letter SET replay_at = now() WHERE request_id = $1', [
        ids[1],
      ]);
      await until(async () =>
        (await deadLetters(fixture)).some(({ error }) => error.startsWith('it refused the record')),
      );
      await fixture.app.database.query('UPDATE tap_dead_letter SET replay_at = now() WHERE request_id = $1', [
        ids[1],
      ]);
      await until(async () => (await deadLetters(fixture)).length === 2);
      expect(countOf(fixture, ids[1]!)).toBe(1);
      expect(await tapRow(fixture.app, fixture.tap)).toMatchObject({ failures: 0, delivered: '2' });
    });
  },
);

describe('Datadog limits', () => {
  let fixture: SinkFixture;
  beforeAll(async () => {
    const vendor = await VendorStandIn.open(datadogVendor, DATADOG_KEY);
    const environment = {
      SINKS: `there=datadog:${vendor.url}#batch=1000`,
      SINK_SECRETS: `there=${DATADOG_KEY}`,
      WORKERS: 'inline',
    };
    fixture = { app: await startTestApp({ environment }), vendor, tap: 'datadog/there' };
  });
  afterAll(() => close(fixture));

  test('an oversized request is split, and each record is sent once', async () => {
    const tags = Array.from({ length: 60 }, (_, index) => `${index}-${'x'.repeat(200)}`);
    const records = Array.from({ length: 600 }, () => freeRecord(1, { tags }));
    await settle(fixture.app, records);
    const ids = records.map(({ requestId }) => requestId);
    await until(() => hasStored(fixture, ids), 30_000);
    expect(fixture.vendor.stored).toEqual(ids);
    expect((await tapRow(fixture.app, fixture.tap)).failures).toBe(0);
  }, 60_000);

  test('a record older than the accepted age is sent with the current time', async () => {
    const oldRecord = freeRecord(1, { createdAt: new Date(Date.now() - 40 * 3_600_000) });
    await settle(fixture.app, [oldRecord]);
    await until(() => hasStored(fixture, [oldRecord.requestId]));
    const [log] = fixture.vendor.requests.at(-1)!.json as { switchboard: SettledRecord }[];
    expect(log!.switchboard.created_at).toBe(oldRecord.createdAt.toISOString());
  });
});

describe('The s3 sink', () => {
  let store: ObjectStoreStandIn;
  let app: TestApp;
  const tap = 's3/lake';
  beforeAll(async () => {
    store = await ObjectStoreStandIn.open();
    app = await startTestApp({
      environment: {
        SINKS: `lake=${store.locationText('kept')}&every=0ms`,
        SINK_SECRETS: `lake=${store.key.accessKeyId}:${store.key.secretAccessKey}`,
      },
    });
  });
  beforeEach(() => {
    store.heal();
    store.contents.objects.clear();
  });
  afterAll(async () => {
    await app.close();
    await store.close();
  });

  const recordsIn = (key: string): SettledRecord[] =>
    gunzipSync(store.bytesOf(key)!)
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as SettledRecord);
  const storedIds = (): string[] => store.keys.flatMap(recordsIn).map(({ request_id: id }) => id);
  const settleAt = async (times: readonly string[]): Promise<string[]> => {
    const records = times.map((time) => freeRecord(1, { createdAt: new Date(time) }));
    await settle(app, records);
    return records.map(({ requestId }) => requestId);
  };
  const isIdle = async (): Promise<boolean> => {
    const [row] = await app.database.query<{ waiting: string }>(
      'SELECT count(*) AS waiting FROM tap_outbox o, tap t WHERE t.name = $1 AND (o.xid, o.id) > (t.after_xid, t.after_id)',
      [tap],
    );
    return row!.waiting === '0';
  };

  test('writes one object per hour, named after its contents', async () => {
    const [a, b, c] = await settleAt([
      '2026-11-27T14:10:00Z',
      '2026-11-27T13:59:59.999Z',
      '2026-11-27T14:20:00Z',
    ]);
    await until(isIdle);
    expect(store.keys).toEqual([
      `kept/year=2026/month=11/day=27/hour=13/20261127T135959Z_${b}_${b}_1.jsonl.gz`,
      `kept/year=2026/month=11/day=27/hour=14/20261127T141000Z_${a}_${c}_2.jsonl.gz`,
    ]);
    expect(storedIds()).toEqual([b, a, c]);
    expect(store.contents.objects.get(store.keys[0]!)!.headers['content-type']).toBe('application/gzip');
  });

  test.each(['cut-after', 'error-after', 'internal-error', 'slow-down', 'garbage', 'cut-before'] as const)(
    'stores every record exactly once after the fault %s',
    async (fault) => {
      store.fail(fault, 3, ({ method }) => method === 'PUT');
      const ids = await settleAt(['2026-11-27T14:10:00Z', '2026-11-27T15:10:00Z']);
      await until(async () => (await tapRow(app, tap)).failures === 1);
      await app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
      await until(isIdle);
      expect(storedIds()).toEqual(ids);
    },
  );

  test('retries after a refused key without showing the secret', async () => {
    const clock = jest.spyOn(store, 'now').mockImplementation(() => new Date(Date.now() + 3_600_000));
    const ids = await settleAt(['2026-11-27T14:10:00Z']);
    await until(async () => (await tapRow(app, tap)).failures === 1);
    const { last_error: words } = await tapRow(app, tap);
    expect(words).toContain('403 RequestTimeTooSkewed');
    expect(words).not.toContain(store.key.secretAccessKey);
    clock.mockRestore();
    await app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
    await until(isIdle);
    expect(storedIds()).toEqual(ids);
  });
});

describe('A sink with a delivery interval', () => {
  test('delivers all records of the interval in one object', async () => {
    const store = await ObjectStoreStandIn.open();
    const database = await createTestDatabase();
    const app = await startTestApp({
      sharedDatabase: database,
      environment: {
        SINKS: `lake=${store.locationText()}&every=1h`,
        SINK_SECRETS: `lake=${store.key.accessKeyId}:${store.key.secretAccessKey}`,
      },
    });
    try {
      const createdAt = new Date('2026-11-27T14:10:00Z');
      for (let count = 0; count < 3; count += 1) await settle(app, [freeRecord(1, { createdAt })]);
      await inSession(database.ownerUrl, (session) =>
        session.query("UPDATE tap_outbox SET settled_at = settled_at - interval '1 hour'"),
      );
      await until(() => store.keys.length > 0);
      expect(store.keys).toEqual([expect.stringMatching(/_3\.jsonl\.gz$/)]);
    } finally {
      await app.close();
      await database.drop();
      await store.close();
    }
  });
});

test('sinks that hang time out and receive every record later', async () => {
  const standIns = await Promise.all(
    sinkVendors.map(async ([kind, judge, key, secret]) => ({
      kind,
      secret,
      vendor: await VendorStandIn.open(judge, key),
    })),
  );
  const store = await ObjectStoreStandIn.open();
  const { accessKeyId, secretAccessKey } = store.key;
  const app = await startTestApp({
    environment: {
      SINKS: [
        ...standIns.map(({ kind, vendor }) => `${kind}=${kind}:${vendor.url}#timeout=1s`),
        `s3=${store.locationText()}&timeout=1s&every=0ms`,
      ].join(','),
      SINK_SECRETS: [
        ...standIns.map(({ kind, secret }) => `${kind}=${secret}`),
        `s3=${accessKeyId}:${secretAccessKey}`,
      ].join('\n'),
    },
  });
  try {
    for (const { vendor } of standIns) vendor.fail({ kind: 'hang' });
    store.fail('hang');
    const records = [freeRecord(1), freeRecord(1)];
    await settle(app, records);
    const ids = records.map(({ requestId }) => requestId);
    const taps = ['datadog/datadog', 'langfuse/langfuse', 'otlp/otlp', 's3/s3'];
    await until(async () => {
      const rows = await Promise.all(taps.map((tap) => tapRow(app, tap)));
      return rows.every(({ last_error: error }) => error === 'no answer within 1000 ms');
    });
    await app.database.query('UPDATE tap SET due_at = now()');
    await until(
      () =>
        store.keys.length > 0 &&
        standIns.every(({ vendor }) => ids.every((id) => vendor.stored.includes(id))),
    );
  } finally {
    await app.close();
    await store.close();
    await Promise.all(standIns.map(({ vendor }) => vendor.close()));
  }
}, 60_000);
