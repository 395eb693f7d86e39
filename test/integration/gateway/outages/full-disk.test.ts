import { Client } from 'pg';
import { MoneyEngine } from '#product/billing';
import { startTestApp, type TestApp } from '../../../support/app';
import { expectMoneyToAddUp } from '../../billing/money-fixture';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres';
import { type Simulator, startSimulator } from '../../../support/simulator';

interface WritableDisk {
  write: (file: number, bytes: Buffer) => number;
}

const dialects = [
  ['/v1/chat/completions', 'messages', /data: \{"error":\{/, /\[DONE\]/],
  ['/v1/messages', 'messages', /event: error\n/, /message_stop/],
  ['/v1/responses', 'input', /event: response\.failed\n/, /response\.completed/],
] as const;

describe('Full disk', () => {
  let database: TestDatabase;
  let supplier: Simulator;
  let app: TestApp;
  const blocker = { client: new Client() };

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: database,
      environment: { SETTLE_ACK: 'journal' },
    });
    blocker.client = new Client({ connectionString: database.ownerUrl });
    await blocker.client.connect();
  });
  afterAll(async () => {
    await blocker.client.end();
    await app.close();
    await supplier.stop();
    await database.drop();
  });

  /** Fails every write of the journal until `free` is called. */
  function fillDisk(): { free: () => void } {
    const engine: unknown = app.application.get(MoneyEngine);
    const { disk } = (engine as { journal: { disk: WritableDisk } }).journal;
    const { write } = disk;
    disk.write = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
    return { free: () => void (disk.write = write) };
  }

  const sendRequest = (path: string, field: string, text: string, stream = true): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-small',
        [field]: [{ role: 'user', content: text }],
        stream,
        ...(path === '/v1/responses' ? {} : { max_tokens: 400 }),
      }),
    });
  const checkReadiness = async (): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${app.url}/health/ready`);
    return { status: answer.status, text: await answer.text() };
  };

  test('/health/ready reports a full disk, and the service recovers without intervention', async () => {
    const disk = fillDisk();
    try {
      // The charge of a request that has started is written directly into the database.
      const answer = await sendRequest('/v1/chat/completions', 'messages', '[[tokens=5]]');
      expect(await answer.text()).toContain('[DONE]');
      expect(await checkReadiness()).toEqual({
        status: 503,
        text: expect.stringContaining('ENOSPC') as string,
      });
      const refusal = await sendRequest('/v1/chat/completions', 'messages', '[[tokens=5]]');
      expect([refusal.status, (await fetch(`${app.url}/health/live`)).status]).toEqual([503, 200]);
    } finally {
      disk.free();
    }
    const engine = app.application.get(MoneyEngine);
    while (engine.journalError !== undefined) await new Promise((resolve) => setImmediate(resolve));
    expect((await checkReadiness()).status).toBe(200);
    expect((await sendRequest('/v1/chat/completions', 'messages', '[[tokens=5]]')).status).toBe(200);
  });

  test('request that neither journal nor database can record ends with an error and no charge', async () => {
    const countRecords = () =>
      app.database.query<{ count: string; spent: string }>(
        `SELECT (SELECT count(*) FROM request_record) AS count,
                (SELECT sum(cost_nano) FROM request_record) AS spent`,
      );
    const engine = app.application.get(MoneyEngine);
    while (engine.pending > 0) await new Promise((resolve) => setImmediate(resolve));
    const recordsBefore = await countRecords();
    await blocker.client.query('BEGIN; LOCK TABLE request_record IN ACCESS EXCLUSIVE MODE');
    const streams = await Promise.all(
      dialects.map(([path, field]) => sendRequest(path, field, '[[tokens=40]] [[pace=100]]')),
    );
    const pendingResponses = dialects.map(([path, field]) =>
      sendRequest(path, field, '[[tokens=5]] [[delay=2500]]', false),
    );
    while (engine.escrow.holds < 6) await new Promise((resolve) => setImmediate(resolve));
    const disk = fillDisk();
    try {
      const texts = await Promise.all(streams.map((answer) => answer.text()));
      for (const [place, [path, , error, end]] of dialects.entries()) {
        expect([path, texts[place]]).toEqual([path, expect.stringMatching(error)]);
        expect(texts[place]).not.toMatch(end);
        expect(texts[place]).toContain('could not be recorded');
      }
      expectContinuation(texts[2]!);
      for (const answer of await Promise.all(pendingResponses)) {
        expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([500, 'false']);
        expect(await answer.text()).toContain('supplier_settlement_failed');
      }
    } finally {
      disk.free();
      await blocker.client.query('ROLLBACK');
    }
    while (engine.pending > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await countRecords()).toEqual(recordsBefore);
    await expectMoneyToAddUp(app.database);
  });
});

/** Expects the failure to be the next event of the stream that had started. */
function expectContinuation(text: string): void {
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as { sequence_number: number; response?: { id: string } },
  );
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
  const ids = events.flatMap(({ response }) => (response === undefined ? [] : [response.id]));
  expect(ids.length).toBeGreaterThan(2);
  expect(new Set(ids).size).toBe(1);
}
