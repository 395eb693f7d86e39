import { createTestDatabase, rowsOf, type TestDatabase } from '../../../support/postgres';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';

const STREAMS = 100;

interface Row {
  readonly code: string | null;
  readonly output_tokens: number;
  readonly cost_nano: string;
}

describe('a service that is told to stop with a hundred streams open', () => {
  let app: TestApp;
  let supplier: Simulator;
  let database: TestDatabase;

  beforeAll(async () => {
    [supplier, database] = await Promise.all([startSimulator(), createTestDatabase()]);
    app = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: database,
      environment: { DRAIN_TIMEOUT: '6s' },
    });
  });
  afterAll(async () => {
    await supplier.stop();
    await database.drop();
  });

  const ask = (content: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', stream: true, messages: [{ role: 'user', content }] }),
    });

  test('lets the short ones end whole, tells the long ones, and charges for both', async () => {
    const [short, long] = await Promise.all([
      Promise.all(Array.from({ length: STREAMS / 2 }, () => ask('short [[tokens=20]] [[pace=20]]'))),
      Promise.all(Array.from({ length: STREAMS / 2 }, () => ask('long [[tokens=2000]] [[pace=40]]'))),
    ]);
    const texts = Promise.all([...short, ...long].map((answer) => answer.text()));
    const ids = [...short, ...long].map((answer) => answer.headers.get('x-request-id'));
    const startedAt = performance.now();
    const closing = app.close();
    const refused = await ask('too late');
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'pod_draining' } }]);
    const told = await texts;
    for (const text of told.slice(0, STREAMS / 2)) expect(text).toContain('data: [DONE]');
    for (const text of told.slice(STREAMS / 2)) {
      expect(text).not.toContain('[DONE]');
      expect(text.trim().split('\n\n').at(-1)).toContain('"code":"stream_interrupted"');
    }
    await closing;
    // The long ones would have taken longer than a minute.
    expect(performance.now() - startedAt).toBeLessThan(40_000);
    // The service has given back its connections by now.
    const rows = await rowsOf<Row>(
      database.ownerUrl,
      `SELECT code, output_tokens, cost_nano FROM request_record WHERE request_id IN ('${ids.join("', '")}')`,
    );
    expect(rows).toHaveLength(STREAMS);
    expect(rows.filter(({ code }) => code === null)).toHaveLength(STREAMS / 2);
    for (const { output_tokens: tokens, cost_nano: cost } of rows)
      expect([tokens > 0, BigInt(cost) > 0n]).toEqual([true, true]);
  });
});

describe('a service that gives notice before it stops', () => {
  test('fails its readiness, serves on until the notice is over, and keeps no connection', async () => {
    const app = await startTestApp({ environment: { DRAIN_TIMEOUT: '5s', DRAIN_NOTICE: '2s' } });
    const models = (): Promise<Response> =>
      fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${app.firstKeys?.demo}` } });
    expect((await models()).headers.get('connection')).toBe('keep-alive');
    const startedAt = performance.now();
    const closing = app.close();
    const ready = await fetch(`${app.url}/health/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { error: { code: 'pod_draining' } }]);
    const served = await models();
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    await closing;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000);
    await expect(models()).rejects.toThrow();
  });
});
