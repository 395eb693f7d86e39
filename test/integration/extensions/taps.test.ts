import { PostgresMoneyStore } from '#product/billing';
import { Metrics, RepeatingJobs } from '#product/platform';
import { toWrittenRecord } from '../../support/record-fixture';
import { startTestApp, type TestApp } from '../../support/app';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { type Simulator, startSimulator } from '../../support/simulator';
import { storeRecords } from '../../support/records';
import type { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';
import { addCustomer } from '../../support/customer';
import {
  setTapFailures,
  freeRecord,
  openTapFixture,
  duringTransaction,
  outboxSize,
  SENDER,
  settle,
  tapRow,
} from './tap-fixture';

describe('Settled records', () => {
  let supplier: Simulator;
  let fixture: Awaited<ReturnType<typeof openTapFixture>>;
  beforeAll(async () => {
    supplier = await startSimulator();
    fixture = await openTapFixture({}, { sandboxUrl: supplier.url });
  });
  afterAll(async () => {
    await fixture.close();
    await supplier.stop();
  });

  const sendChat = async (
    key: string | undefined,
    model: string,
    text = 'x [[tokens=9]]',
  ): Promise<number> => {
    const answer = await fetch(`${fixture.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: text }] }),
    });
    await answer.text();
    return answer.status;
  };

  test('reach a tap within two seconds, once per request, with the totals of the ledger', async () => {
    const { app, sink } = fixture;
    const customers = [
      await addCustomer(app, 'north', 5_000_000_000n),
      await addCustomer(app, 'south', 5_000_000_000n),
    ];
    const keys = customers.map(({ key }) => key);
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, place) => sendChat(keys[place % 2], 'sim-large')),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await sendChat(keys[0], 'made-up')).toBe(404);
    expect(await sendChat(keys[0], 'sim-large', 'x [[filter]]')).toBeGreaterThanOrEqual(400);
    await until(() => sink.accepted.length >= 22);
    const records = await app.database.query<{ request_id: string; key_id: string; cost_nano: string }>(
      'SELECT request_id, key_id, cost_nano FROM request_record',
    );
    expect([...sink.ids].sort()).toEqual(records.map((record) => record.request_id).sort());
    const toNano = (usd: string): bigint => {
      const [whole = '0', part = ''] = usd.split('.');
      return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
    };
    const deliveredNano = sink.accepted.reduce((sum, record) => sum + toNano(record.cost_usd), 0n);
    const [ledger] = await app.database.query<{ total: string }>(
      `SELECT sum(amount) AS total FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id WHERE a.kind = 'usage'`,
    );
    expect(deliveredNano).toBe(BigInt(ledger!.total));
    expect(deliveredNano).toBeGreaterThan(0n);
    for (const key of new Set(records.map(({ key_id: id }) => Number(id)))) {
      const deliveredIds = sink.accepted
        .filter((record) => record.key_id === key)
        .map(({ request_id: id }) => id);
      const outboxOrder = await app.database.query<{ request_id: string }>(
        'SELECT request_id FROM tap_outbox WHERE key_id = $1 ORDER BY xid, id',
        [key],
      );
      expect(deliveredIds).toEqual(outboxOrder.map((row) => row.request_id));
    }
    // The counter is increased after the response of the receiver has been read.
    const deliveredMetric = 'gateway_tap_records_total{tap="sender/all",outcome="delivered"} 22';
    await until(async () => (await app.application.get(Metrics).text()).includes(deliveredMetric));
  });
});

test('the outbox stays empty without a tap', async () => {
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

describe('Tap delivery', () => {
  let database: TestDatabase;
  let app: TestApp;
  let sink: TapSink;
  let close: () => Promise<void>;
  beforeAll(async () => {
    database = await createTestDatabase();
    ({ app, sink, close } = await openTapFixture({ TAP_BACKLOG: '100' }, { sharedDatabase: database }));
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
  const metricsText = async (): Promise<string> => app.application.get(Metrics).text();

  /** Replays a dead letter through the tap and waits until the tap has read the outbox again. */
  const replayAndPoll = async ({ requestId, createdAt }: { requestId: string; createdAt: Date }) => {
    await app.database.query(
      `INSERT INTO tap_dead_letter (tap, request_id, created_at, error, replay_at)
       VALUES ('sender/all', $1, $2, 'x', now())`,
      [requestId, createdAt],
    );
    await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 0);
    await until(async () => !(await tapRow(app)).claimed);
  };

  test('follows the order of transactions and waits for earlier open ones', async () => {
    const [earlier, first, second, third] = [freeRecord(1), freeRecord(1), freeRecord(1), freeRecord(1)];
    await storeRecords(app, [earlier]);
    await duringTransaction(
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
        await replayAndPoll(earlier);
        expect(sink.ids).toEqual([earlier.requestId]);
      },
    );
    await until(() => sink.accepted.length >= 4);
    expect(sink.ids).toEqual(idsOf([earlier, first, second, third]));
  });

  test('sends batches no larger than the tap requests', async () => {
    await settle(
      app,
      Array.from({ length: 8 }, () => freeRecord(2)),
    );
    await until(() => sink.accepted.length === 8);
    expect(sink.batches.map(({ records }) => records.length)).toEqual([3, 3, 2]);
  });

  test('repeats records whose delivery could not be recorded, and loses none', async () => {
    const records = [freeRecord(3), freeRecord(3)];
    sink.behaviour = async (_batch, asked) => {
      // Simulates a node that was silent for so long that another one took over its claim.
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

  test('sends everything in order after an outage and creates no dead letters', async () => {
    const records = Array.from({ length: 7 }, () => freeRecord(4));
    sink.behaviour = () => 503;
    await settle(app, records);
    await until(() => sink.batches.length > 0);
    await until(async () => (await tapRow(app)).failures === 1);
    expect((await tapRow(app)).last_error).toBe('the sink said 503 Bearer [redacted]');
    // The search for a faulty record finds that none is accepted.
    await setTapFailures(app, 20);
    await until(async () => (await tapRow(app)).failures === 21);
    expect(await app.database.query('SELECT FROM tap_dead_letter')).toEqual([]);
    sink.behaviour = () => 200;
    await setTapFailures(app, 21);
    await until(() => sink.accepted.length === 7);
    expect(sink.ids).toEqual(idsOf(records));
    await until(async () => (await tapRow(app)).failures === 0);
    expect(app.log.join('\n')).toContain('a tap failed, its records are delivered again later');
  });

  test.each([
    ['first', 0],
    ['in the middle', 3],
    ['last', 6],
  ])('turns a faulty record that is %s into a dead letter and continues', async (_where, at) => {
    const records = Array.from({ length: 8 }, () => freeRecord(5));
    const faultyId = records[at]!.requestId;
    sink.behaviour = (batch) => (batch.records.some((record) => record.request_id === faultyId) ? 422 : 200);
    await settle(app, records);
    await until(async () => (await tapRow(app)).failures === 1);
    await setTapFailures(app, 7);
    await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 1);
    await until(() => sink.accepted.length === 7);
    expect(sink.ids).toEqual(idsOf(records).filter((id) => id !== faultyId));
    const deadLetters = await app.database.query<{ id: string }>(
      'SELECT tap, request_id, error FROM tap_dead_letter',
    );
    expect(deadLetters).toEqual([
      { tap: 'sender/all', request_id: faultyId, error: 'the sink said 422 Bearer [redacted]' },
    ]);
    sink.behaviour = () => 200;
    await app.database.query('UPDATE tap_dead_letter SET replay_at = now()');
    await until(() => sink.accepted.length === 8);
    expect(sink.ids.at(-1)).toBe(faultyId);
    await until(async () => (await app.database.query('SELECT FROM tap_dead_letter')).length === 0);
  });

  test('finds several faulty records in a row', async () => {
    const records = Array.from({ length: 5 }, () => freeRecord(6));
    const faultyIds = new Set(idsOf(records.slice(0, 3)));
    sink.behaviour = (batch) =>
      batch.records.some((record) => faultyIds.has(record.request_id)) ? 422 : 200;
    await settle(app, records);
    await until(async () => (await tapRow(app)).failures === 1);
    await setTapFailures(app, 7);
    await until(() => sink.accepted.length === 2);
    expect(sink.ids).toEqual(idsOf(records.slice(3)));
    const deadLetters = await app.database.query<{ request_id: string }>(
      'DELETE FROM tap_dead_letter RETURNING request_id',
    );
    expect(deadLetters.flat()).toEqual(
      expect.arrayContaining([...faultyIds].map((id) => ({ request_id: id }))),
    );
  });

  test('drops the oldest records of a full backlog and reports it', async () => {
    sink.behaviour = () => 503;
    const records = Array.from({ length: 104 }, () => freeRecord(7));
    await settle(app, records);
    await until(async () => (await tapRow(app)).failures === 1);
    const droppedBefore = Number((await tapRow(app)).dropped);
    await app.application.get(RepeatingJobs).run('taps');
    expect(Number((await tapRow(app)).dropped) - droppedBefore).toBe(4);
    expect(await metricsText()).toContain('gateway_tap_records_total{tap="sender/all",outcome="dropped"} 4');
    expect(app.log.join('\n')).toContain('the backlog of a tap was full: its oldest entries left');
    sink.behaviour = () => 200;
    await setTapFailures(app, 0);
    await until(() => sink.accepted.length === 100);
    expect(sink.ids).toEqual(idsOf(records.slice(4)));
    await app.application.get(RepeatingJobs).run('taps');
    expect(await outboxSize(app)).toBe(0);
  });

  test('skips entries whose records have been deleted', async () => {
    const record = freeRecord(8);
    await app.database.query(
      "INSERT INTO tap_outbox (key_id, request_id, created_at) VALUES (8, gen_random_uuid(), now() - interval '1 year')",
    );
    await settle(app, [record]);
    await until(() => sink.accepted.length === 1);
    expect(sink.ids).toEqual([record.requestId]);
  });

  test('deletes a tap that no node listed for thirty days, and registers a deleted tap again', async () => {
    await app.database.query(
      `INSERT INTO tap (name, after_xid, after_id, listed_at)
       VALUES ('gone/long', '1', 0, now() - interval '31 days'), ('gone/lately', '1', 0, now() - interval '29 days')`,
    );
    await app.application.get(RepeatingJobs).run('taps');
    const names = await app.database.query<{ name: string }>('SELECT name FROM tap ORDER BY name');
    expect(names.map(({ name }) => name)).toEqual(['gone/lately', 'sender/all']);
    await app.database.query('DELETE FROM tap');
    await until(async () => (await tapRow(app)) !== undefined);
    const record = freeRecord(9);
    await settle(app, [record]);
    await until(() => sink.accepted.length === 1);
  });

  test('delivers a batch once when the store settles it twice', async () => {
    const store = new PostgresMoneyStore(app.database, true);
    const records = [freeRecord(10), freeRecord(10)];
    const batch = { lease: null, number: 0, records: records.map(toWrittenRecord), releases: [] };
    await store.settle(batch);
    await store.settle(batch);
    await until(() => sink.accepted.length === 2);
    await until(async () => !(await tapRow(app)).claimed);
    expect(sink.ids).toEqual(idsOf(records));
  });

  test('runs on one of two nodes, and continues when a node stops', async () => {
    const second = await startTestApp({
      sharedDatabase: database,
      environment: { EXTENSIONS: SENDER, EXT_SENDER_URL: sink.url },
    });
    const records = Array.from({ length: 30 }, () => freeRecord(11));
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
