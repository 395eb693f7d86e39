import { PostgresMoneyStore } from '#product/billing';
import { Metrics, RepeatingJobs } from '#product/platform';
import { written } from '../../support/a-record';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';
import { putRecords } from '../../support/records';
import type { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';
import { addCustomer } from '../../support/customer';
import {
  failedBefore,
  free,
  openTapped,
  openTransaction,
  outboxSize,
  SENDER,
  settle,
  tapRow,
} from './tap-house';

describe('what was settled', () => {
  let supplier: Simulator;
  let house: Awaited<ReturnType<typeof openTapped>>;
  beforeAll(async () => {
    supplier = await startSimulator();
    house = await openTapped({}, { sandboxUrl: supplier.url });
  });
  afterAll(async () => {
    await house.close();
    await supplier.stop();
  });

  const ask = async (key: string | undefined, model: string, text = 'x [[tokens=9]]'): Promise<number> => {
    const answer = await fetch(`${house.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: text }] }),
    });
    await answer.text();
    return answer.status;
  };

  test('reaches a tap within two seconds, every request once, with the sums of the ledger', async () => {
    const { app, sink } = house;
    const customers = [
      await addCustomer(app, 'north', 5_000_000_000n),
      await addCustomer(app, 'south', 5_000_000_000n),
    ];
    const keys = customers.map(({ key }) => key);
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, place) => ask(keys[place % 2], 'sim-large')),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await ask(keys[0], 'made-up')).toBe(404);
    expect(await ask(keys[0], 'sim-large', 'x [[filter]]')).toBeGreaterThanOrEqual(400);
    await until(() => sink.accepted.length >= 22);
    const records = await app.database.query<{ request_id: string; key_id: string; cost_nano: string }>(
      'SELECT request_id, key_id, cost_nano FROM request_record',
    );
    expect([...sink.ids].sort()).toEqual(records.map((record) => record.request_id).sort());
    const nano = (usd: string): bigint => {
      const [whole = '0', part = ''] = usd.split('.');
      return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
    };
    const told = sink.accepted.reduce((sum, record) => sum + nano(record.cost_usd), 0n);
    const [ledger] = await app.database.query<{ total: string }>(
      `SELECT sum(amount) AS total FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id WHERE a.kind = 'usage'`,
    );
    expect(told).toBe(BigInt(ledger!.total));
    expect(told).toBeGreaterThan(0n);
    for (const key of new Set(records.map(({ key_id: id }) => Number(id)))) {
      const ofKey = sink.accepted.filter((record) => record.key_id === key).map(({ request_id: id }) => id);
      const order = await app.database.query<{ request_id: string }>(
        'SELECT request_id FROM tap_outbox WHERE key_id = $1 ORDER BY xid, id',
        [key],
      );
      expect(ofKey).toEqual(order.map((row) => row.request_id));
    }
    // Counted once the answer of the receiver was read.
    const counted = 'gateway_tap_records_total{tap="sender/all",outcome="delivered"} 22';
    await until(async () => (await app.application.get(Metrics).text()).includes(counted));
  });
});

test('without a tap nothing is written', async () => {
  const supplier = await startSimulator();
  const app = await startTestApp({ sandboxUrl: supplier.url });
  try {
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-large', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(answer.status).toBe(200);
    expect(await app.database.query('SELECT FROM request_record')).toHaveLength(1);
    expect(await outboxSize(app)).toBe(0);
    expect(await app.database.query('SELECT FROM tap')).toEqual([]);
  } finally {
    await app.close();
    await supplier.stop();
  }
});

describe('delivery', () => {
  let database: TestDatabase;
  let app: TestApp;
  let sink: TapSink;
  let close: () => Promise<void>;
  beforeAll(async () => {
    database = await createTestDatabase();
    ({ app, sink, close } = await openTapped({ TAP_BACKLOG: '100' }, { sharedDatabase: database }));
  });
  beforeEach(() => {
    sink.behaviour = () => 200;
    sink.accepted.length = 0;
    sink.batches.length = 0;
  });
  afterAll(async () => {
    await close();
    await database.drop();
  });

  const idsOf = (records: readonly { requestId: string }[]): string[] =>
    records.map(({ requestId }) => requestId);
  const metric = async (): Promise<string> => app.application.get(Metrics).text();

  /** The tap is given this dead letter, and then looked for more in the outbox. */
  const lookedAgain = async ({ requestId, createdAt }: { requestId: string; createdAt: Date }) => {
    await app.database.query(
      `INSERT INTO tap_dead_letter (tap, request_id, created_at, error, replay_at)
       VALUES ('sender/all', $1, $2, 'x', now())`,
      [requestId, createdAt],
    );
    await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 0);
    await until(async () => !(await tapRow(app)).claimed);
  };

  test('goes by the order of transactions, and waits for those that began earlier', async () => {
    const [before, first, second, third] = [free(1), free(1), free(1), free(1)];
    await putRecords(app, [before]);
    await openTransaction(
      database.url,
      async (query) => {
        const { createdAt, requestId } = first;
        await query(
          `INSERT INTO request_record (request_id, created_at, key_id, surface, usage_source, cost_nano, status, stream, failover, latency_ms)
           VALUES ($1, $2, 1, 'chat', 'none', 0, 200, false, false, 1)`,
          [requestId, createdAt],
        );
        await query('INSERT INTO tap_outbox (key_id, request_id, created_at) VALUES (1, $1, $2)', [
          requestId,
          createdAt,
        ]);
      },
      async () => {
        await settle(app, [second, third]);
        await lookedAgain(before);
        expect(sink.ids).toEqual([before.requestId]);
      },
    );
    await until(() => sink.accepted.length >= 4);
    expect(sink.ids).toEqual(idsOf([before, first, second, third]));
  });

  test('batches are no larger than the tap asks for', async () => {
    await settle(
      app,
      Array.from({ length: 8 }, () => free(2)),
    );
    await until(() => sink.accepted.length === 8);
    expect(sink.batches.map(({ records }) => records.length)).toEqual([3, 3, 2]);
  });

  test('what was delivered is delivered once more where that could not be written down, never lost', async () => {
    const records = [free(3), free(3)];
    sink.behaviour = async (_batch, asked) => {
      // As if this node had been silent for so long that another one has the claim.
      if (asked === 1) await app.database.query('UPDATE tap SET claim = gen_random_uuid()');
      return 200;
    };
    await settle(app, records);
    await until(() => sink.accepted.length === 2);
    await app.database.query("UPDATE tap SET claimed_until = now() - interval '1 second'");
    await until(() => sink.accepted.length === 4);
    expect(sink.ids).toEqual([...idsOf(records), ...idsOf(records)]);
    await until(async () => !(await tapRow(app)).claimed);
    expect((await tapRow(app)).delivered).toBe(String(4 + 8 + 2));
  });

  test('a tap that is down gets everything when it is back, and gives nothing up', async () => {
    const records = Array.from({ length: 7 }, () => free(4));
    sink.behaviour = () => 503;
    await settle(app, records);
    await until(() => sink.batches.length > 0);
    await until(async () => (await tapRow(app)).failures === 1);
    expect((await tapRow(app)).last_error).toBe('the sink said 503 Bearer [redacted]');
    // The search for a record at fault finds that none is taken.
    await failedBefore(app, 20);
    await until(async () => (await tapRow(app)).failures === 21);
    expect(await app.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
    sink.behaviour = () => 200;
    await failedBefore(app, 21);
    await until(() => sink.accepted.length === 7);
    expect(sink.ids).toEqual(idsOf(records));
    await until(async () => (await tapRow(app)).failures === 0);
    expect(app.log.join('\n')).toContain('a tap failed, its records are delivered again later');
  });

  test.each([
    ['first', 0],
    ['in the middle', 3],
    ['last', 6],
  ])(
    'a record that is at fault and stands %s becomes a dead letter, and the tap goes on',
    async (_where, at) => {
      const records = Array.from({ length: 8 }, () => free(5));
      const bad = records[at]!.requestId;
      sink.behaviour = (batch) => (batch.records.some((record) => record.request_id === bad) ? 422 : 200);
      await settle(app, records);
      await until(async () => (await tapRow(app)).failures === 1);
      await failedBefore(app, 7);
      await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 1);
      await until(() => sink.accepted.length === 7);
      expect(sink.ids).toEqual(idsOf(records).filter((id) => id !== bad));
      const letters = await app.database.query<{ id: string }>(
        'SELECT tap, request_id, error FROM tap_dead_letter',
      );
      expect(letters).toEqual([
        { tap: 'sender/all', request_id: bad, error: 'the sink said 422 Bearer [redacted]' },
      ]);
      sink.behaviour = () => 200;
      await app.database.query('UPDATE tap_dead_letter SET replay_at = now()');
      await until(() => sink.accepted.length === 8);
      expect(sink.ids.at(-1)).toBe(bad);
      await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 0);
    },
  );

  test('several records at fault in a row are found as well', async () => {
    const records = Array.from({ length: 5 }, () => free(6));
    const bad = new Set(idsOf(records.slice(0, 3)));
    sink.behaviour = (batch) => (batch.records.some((record) => bad.has(record.request_id)) ? 422 : 200);
    await settle(app, records);
    await until(async () => (await tapRow(app)).failures === 1);
    await failedBefore(app, 7);
    await until(() => sink.accepted.length === 2);
    expect(sink.ids).toEqual(idsOf(records.slice(3)));
    const letters = await app.database.query<{ request_id: string }>(
      'DELETE FROM tap_dead_letter RETURNING request_id',
    );
    expect(letters.flat()).toEqual(expect.arrayContaining([...bad].map((id) => ({ request_id: id }))));
  });

  test('the oldest leave a backlog that is full, which is told', async () => {
    sink.behaviour = () => 503;
    const records = Array.from({ length: 104 }, () => free(7));
    await settle(app, records);
    await until(async () => (await tapRow(app)).failures === 1);
    const before = Number((await tapRow(app)).dropped);
    await app.application.get(RepeatingJobs).run('taps');
    expect(Number((await tapRow(app)).dropped) - before).toBe(4);
    expect(await metric()).toContain('gateway_tap_records_total{tap="sender/all",outcome="dropped"} 4');
    expect(app.log.join('\n')).toContain('the backlog of a tap was full: its oldest entries left');
    sink.behaviour = () => 200;
    await failedBefore(app, 0);
    await until(() => sink.accepted.length === 100);
    expect(sink.ids).toEqual(idsOf(records.slice(4)));
    await app.application.get(RepeatingJobs).run('taps');
    expect(await outboxSize(app)).toBe(0);
  });

  test('entries whose records are no longer kept are passed over', async () => {
    const kept = free(8);
    await app.database.query(
      "INSERT INTO tap_outbox (key_id, request_id, created_at) VALUES (8, gen_random_uuid(), now() - interval '1 year')",
    );
    await settle(app, [kept]);
    await until(() => sink.accepted.length === 1);
    expect(sink.ids).toEqual([kept.requestId]);
  });

  test('a tap that no node has had for thirty days is forgotten, one that is taken away begins anew', async () => {
    await app.database.query(
      `INSERT INTO tap (name, after_xid, after_id, listed_at)
       VALUES ('gone/long', '1', 0, now() - interval '31 days'), ('gone/lately', '1', 0, now() - interval '29 days')`,
    );
    await app.application.get(RepeatingJobs).run('taps');
    const names = await app.database.query<{ name: string }>('SELECT name FROM tap ORDER BY name');
    expect(names.map(({ name }) => name)).toEqual(['gone/lately', 'sender/all']);
    await app.database.query('DELETE FROM tap');
    await until(async () => (await tapRow(app)) !== undefined);
    const record = free(9);
    await settle(app, [record]);
    await until(() => sink.accepted.length === 1);
  });

  test('a batch that a store settles twice is told once', async () => {
    const store = new PostgresMoneyStore(app.database, true);
    const records = [free(10), free(10)];
    const batch = { lease: null, number: 0, records: records.map(written), releases: [] };
    await store.settle(batch);
    await store.settle(batch);
    await until(() => sink.accepted.length === 2);
    await until(async () => !(await tapRow(app)).claimed);
    expect(sink.ids).toEqual(idsOf(records));
  });

  test('of two nodes one delivers, and the other goes on when it stops', async () => {
    const second = await startTestApp({
      sharedDatabase: database,
      environment: { EXTENSIONS: SENDER, EXT_SENDER_URL: sink.url },
    });
    const records = Array.from({ length: 30 }, () => free(11));
    for (const record of records.slice(0, 20)) await settle(app, [record]);
    await until(() => sink.accepted.length === 20);
    const held = Promise.withResolvers<number>();
    sink.behaviour = () => held.promise;
    sink.batches.length = 0;
    await settle(app, records.slice(20, 23));
    await until(() => sink.batches.length === 1);
    await second.close();
    held.resolve(200);
    sink.behaviour = () => 200;
    await settle(app, records.slice(23));
    await until(() => new Set(sink.ids).size === 30);
    expect([...new Set(sink.ids)]).toEqual(idsOf(records));
  });
});
