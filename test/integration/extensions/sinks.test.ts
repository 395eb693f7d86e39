import { gunzipSync } from 'node:zlib';
import type { SettledRecord } from '#extension';
import { startTestApp, type TestApp } from '../../support/app';
import { ObjectStoreStandIn } from '../../support/object-store';
import { type Vendor, VendorRefusal, VendorStandIn } from '../../support/sinks/stand-in';
import { datadogVendor, langfuseVendor, otlpVendor } from '../../support/sinks/vendors';
import { createTestDatabase, inSession } from '../../support/postgres';
import { until } from '../../support/until';
import { failedBefore, free, settle, tapRow } from './tap-house';

const OTLP_KEY = 'token-of-the-collector-1';
const LANGFUSE_KEY = 'pk-lf-1234567890:sk-lf-abcdefghij';
const DATADOG_KEY = '0123456789abcdef0123456789abcdef';

interface House {
  readonly app: TestApp;
  readonly vendor: VendorStandIn;
  readonly tap: string;
}

const close = async ({ app, vendor }: House): Promise<void> => {
  await app.close();
  await vendor.close();
};
const sent = (house: House, ids: readonly string[]): boolean =>
  ids.every((id) => house.vendor.stored.includes(id));
const countOf = ({ vendor }: House, id: string): number => vendor.stored.filter((one) => one === id).length;
const now = ({ app, tap }: House) =>
  app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
const letters = ({ app, tap }: House): Promise<{ request_id: string; error: string }[]> =>
  app.database.query('SELECT request_id, error FROM tap_dead_letter WHERE tap = $1 ORDER BY id', [tap]);
async function settled({ app }: House, count: number): Promise<string[]> {
  const records = Array.from({ length: count }, () => free(1));
  await settle(app, records);
  return records.map(({ requestId }) => requestId);
}
async function failed(house: House): Promise<string> {
  await until(async () => (await tapRow(house.app, house.tap)).failures > 0);
  return (await tapRow(house.app, house.tap)).last_error!;
}

const vendors: readonly (readonly [kind: string, vendor: Vendor, key: string, secret: string])[] = [
  ['otlp', otlpVendor, OTLP_KEY, `Authorization: Bearer ${OTLP_KEY}`],
  ['langfuse', langfuseVendor, LANGFUSE_KEY, LANGFUSE_KEY],
  ['datadog', datadogVendor, DATADOG_KEY, DATADOG_KEY],
];

describe.each(vendors)('the sink %s', (kind, judge, key, secret) => {
  let house: House;
  beforeAll(async () => {
    const vendor = await VendorStandIn.open(judge, key);
    const environment = { SINKS: `there=${kind}:${vendor.url}`, SINK_SECRETS: `there=${secret}` };
    house = { app: await startTestApp({ environment }), vendor, tap: `${kind}/there` };
  });
  beforeEach(() => house.vendor.heal());
  afterAll(() => close(house));

  test('sends every record once, in a form that the vendor takes', async () => {
    const ids = await settled(house, 150);
    await until(() => sent(house, ids));
    expect(house.vendor.stored.slice(-150)).toEqual(ids);
    expect(house.vendor.requests.every(({ headers }) => headers['content-encoding'] === 'gzip')).toBe(true);
  });

  test.each([
    ['is away', { kind: 'cut-before' } as const, 1],
    ['answers 502', { kind: 'answer', refusal: new VendorRefusal(502, {}) } as const, 1],
    ['answers with a page for people', { kind: 'garbage' } as const, 1],
    ['is cut off after it stored', { kind: 'cut-after' } as const, 2],
  ])('loses nothing where the vendor %s', async (_what, fault, times) => {
    house.vendor.fail(fault);
    const ids = await settled(house, 3);
    await failed(house);
    await now(house);
    await until(async () => sent(house, ids) && (await tapRow(house.app, house.tap)).failures === 0);
    expect(ids.map((id) => countOf(house, id))).toEqual([times, times, times]);
    expect(await letters(house)).toEqual([]);
  });

  test('leaves the vendor alone for as long as it wants', async () => {
    house.vendor.fail({
      kind: 'answer',
      refusal: new VendorRefusal(429, { message: 'slow down' }, { 'retry-after': '120' }),
    });
    await failedBefore(house.app, 7, house.tap);
    const ids = await settled(house, 2);
    await until(async () => (await tapRow(house.app, house.tap)).failures === 8);
    const [row] = await house.app.database.query<{ seconds: number }>(
      'SELECT extract(epoch FROM due_at - failed_at)::float8 AS seconds FROM tap WHERE name = $1',
      [house.tap],
    );
    expect(row!.seconds).toBeGreaterThanOrEqual(120);
    expect(house.vendor.stored).not.toContain(ids[0]);
    await now(house);
    await until(() => sent(house, ids));
    expect(await letters(house)).toEqual([]);
  });

  test('waits where the key is wrong, says so without it, and goes on', async () => {
    house.vendor.key = 'another-key-1234567890';
    const ids = await settled(house, 2);
    const words = await failed(house);
    expect(words).toMatch(/^it answered with status 40[13]/);
    for (const part of [key, ...key.split(':')]) {
      expect(words).not.toContain(part);
      expect(house.app.log.join('')).not.toContain(part);
    }
    await failedBefore(house.app, 8, house.tap);
    await until(async () => (await tapRow(house.app, house.tap)).failures === 9);
    expect(await letters(house)).toEqual([]);
    house.vendor.key = key;
    await now(house);
    await until(() => sent(house, ids));
  });

  test('parts at once with a record that is refused, and sends it again where asked', async () => {
    const ids = await settledTogether(house, 12, (all) => house.vendor.poison.add(all[4]!));
    await until(() =>
      sent(
        house,
        ids.filter((id) => id !== ids[4]),
      ),
    );
    await until(async () => (await letters(house)).length === 1);
    expect(await letters(house)).toEqual([
      { request_id: ids[4], error: 'it answered with status 400: one record is malformed' },
    ]);
    expect((await tapRow(house.app, house.tap)).failures).toBe(0);
    house.vendor.heal();
    await house.app.database.query('UPDATE tap_dead_letter SET replay_at = now()');
    await until(async () => (await letters(house)).length === 0);
    expect(ids.map((id) => countOf(house, id))).toEqual(ids.map(() => 1));
  });
});

/** Prepares the vendor with their ids before the tap can see them. */
async function settledTogether(
  house: House,
  count: number,
  prepare: (ids: string[]) => unknown,
): Promise<string[]> {
  const records = Array.from({ length: count }, () => free(1));
  const ids = records.map(({ requestId }) => requestId);
  prepare(ids);
  await settle(house.app, records);
  return ids;
}

describe.each(vendors.filter(([kind]) => kind !== 'datadog'))(
  'records that %s takes in part',
  (kind, judge, key, secret) => {
    let house: House;
    beforeAll(async () => {
      const vendor = await VendorStandIn.open(judge, key);
      const environment = { SINKS: `there=${kind}:${vendor.url}`, SINK_SECRETS: `there=${secret}` };
      house = { app: await startTestApp({ environment }), vendor, tap: `${kind}/there` };
    });
    afterAll(() => close(house));

    test('are never sent again by themselves, and any of them can be looked at', async () => {
      const ids = await settledTogether(house, 3, (all) =>
        house.vendor.fail({ kind: 'partly', refuses: (id) => id === all[1] }),
      );
      await until(async () => (await letters(house)).length === 3);
      const words = (await letters(house)).map(({ error }) => error);
      expect(words[0]).toMatch(/^it refused 1 of these 3 records without saying which: the (record|span) is/);
      const later = await settled(house, 1);
      await until(() => sent(house, later));
      expect(ids.map((id) => countOf(house, id))).toEqual([1, 0, 1]);
      house.vendor.fail({ kind: 'partly', refuses: () => true });
      await house.app.database.query('UPDATE tap_dead_letter SET replay_at = now() WHERE request_id = $1', [
        ids[1],
      ]);
      await until(async () =>
        (await letters(house)).some(({ error }) => error.startsWith('it refused the record')),
      );
      await house.app.database.query('UPDATE tap_dead_letter SET replay_at = now() WHERE request_id = $1', [
        ids[1],
      ]);
      await until(async () => (await letters(house)).length === 2);
      expect(countOf(house, ids[1]!)).toBe(1);
      expect(await tapRow(house.app, house.tap)).toMatchObject({ failures: 0, delivered: '2' });
    });
  },
);

describe('what Datadog bounds', () => {
  let house: House;
  beforeAll(async () => {
    const vendor = await VendorStandIn.open(datadogVendor, DATADOG_KEY);
    const environment = {
      SINKS: `there=datadog:${vendor.url}#batch=1000`,
      SINK_SECRETS: `there=${DATADOG_KEY}`,
      WORKERS: 'inline',
    };
    house = { app: await startTestApp({ environment }), vendor, tap: 'datadog/there' };
  });
  afterAll(() => close(house));

  test('too large a request is sent in parts, each record once', async () => {
    const tags = Array.from({ length: 60 }, (_, index) => `${index}-${'x'.repeat(200)}`);
    const records = Array.from({ length: 600 }, () => free(1, { tags }));
    await settle(house.app, records);
    const ids = records.map(({ requestId }) => requestId);
    await until(() => sent(house, ids), 30_000);
    expect(house.vendor.stored).toEqual(ids);
    expect((await tapRow(house.app, house.tap)).failures).toBe(0);
  }, 60_000);

  test('a record that is older than it takes is told with the time of today', async () => {
    const old = free(1, { createdAt: new Date(Date.now() - 40 * 3_600_000) });
    await settle(house.app, [old]);
    await until(() => sent(house, [old.requestId]));
    const [log] = house.vendor.requests.at(-1)!.json as { switchboard: SettledRecord }[];
    expect(log!.switchboard.created_at).toBe(old.createdAt.toISOString());
  });
});

describe('the sink s3', () => {
  let store: ObjectStoreStandIn;
  let app: TestApp;
  const tap = 's3/lake';
  beforeAll(async () => {
    store = await ObjectStoreStandIn.open();
    app = await startTestApp({
      environment: {
        SINKS: `lake=${store.placeText('kept')}&every=0ms`,
        SINK_SECRETS: `lake=${store.key.accessKeyId}:${store.key.secretAccessKey}`,
      },
    });
  });
  beforeEach(() => {
    store.heal();
    store.shelf.objects.clear();
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
  const some = async (times: readonly string[]): Promise<string[]> => {
    const records = times.map((time) => free(1, { createdAt: new Date(time) }));
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

  test('writes an object of each hour, whose name says what is in it', async () => {
    const [a, b, c] = await some([
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
    expect(store.shelf.objects.get(store.keys[0]!)!.headers['content-type']).toBe('application/gzip');
  });

  test.each(['cut-after', 'error-after', 'internal-error', 'slow-down', 'garbage', 'cut-before'] as const)(
    'has no record twice and none too few: %s',
    async (fault) => {
      store.fail(fault, 3, ({ method }) => method === 'PUT');
      const ids = await some(['2026-11-27T14:10:00Z', '2026-11-27T15:10:00Z']);
      await until(async () => (await tapRow(app, tap)).failures === 1);
      await app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
      await until(isIdle);
      expect(storedIds()).toEqual(ids);
    },
  );

  test('waits where the key is wrong, without showing it', async () => {
    const asked = jest.spyOn(store, 'now').mockImplementation(() => new Date(Date.now() + 3_600_000));
    const ids = await some(['2026-11-27T14:10:00Z']);
    await until(async () => (await tapRow(app, tap)).failures === 1);
    const { last_error: words } = await tapRow(app, tap);
    expect(words).toContain('403 RequestTimeTooSkewed');
    expect(words).not.toContain(store.key.secretAccessKey);
    asked.mockRestore();
    await app.database.query('UPDATE tap SET due_at = now() WHERE name = $1', [tap]);
    await until(isIdle);
    expect(storedIds()).toEqual(ids);
  });
});

describe('a sink that waits for more', () => {
  test('delivers what came meanwhile in one object', async () => {
    const store = await ObjectStoreStandIn.open();
    const database = await createTestDatabase();
    const app = await startTestApp({
      sharedDatabase: database,
      environment: {
        SINKS: `lake=${store.placeText()}&every=1h`,
        SINK_SECRETS: `lake=${store.key.accessKeyId}:${store.key.secretAccessKey}`,
      },
    });
    try {
      const createdAt = new Date('2026-11-27T14:10:00Z');
      for (let count = 0; count < 3; count += 1) await settle(app, [free(1, { createdAt })]);
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

test('vendors that hang are left at the deadline, and get everything later', async () => {
  const there = await Promise.all(
    vendors.map(async ([kind, judge, key, secret]) => ({
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
        ...there.map(({ kind, vendor }) => `${kind}=${kind}:${vendor.url}#timeout=1s`),
        `s3=${store.placeText()}&timeout=1s&every=0ms`,
      ].join(','),
      SINK_SECRETS: [
        ...there.map(({ kind, secret }) => `${kind}=${secret}`),
        `s3=${accessKeyId}:${secretAccessKey}`,
      ].join('\n'),
    },
  });
  try {
    for (const { vendor } of there) vendor.fail({ kind: 'hang' });
    store.fail('hang');
    const records = [free(1), free(1)];
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
        store.keys.length > 0 && there.every(({ vendor }) => ids.every((id) => vendor.stored.includes(id))),
    );
  } finally {
    await app.close();
    await store.close();
    await Promise.all(there.map(({ vendor }) => vendor.close()));
  }
}, 60_000);
