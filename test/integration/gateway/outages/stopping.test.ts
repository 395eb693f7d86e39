import { createTestDatabase, queryRows, type TestDatabase } from '../../../support/postgres';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';

const STREAMS = 100;

interface StoppingRecord {
  readonly code: string | null;
  readonly output_tokens: number;
  readonly cost_nano: string;
}

describe('Shutdown with a hundred open streams', () => {
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

  const sendRequest = (content: string): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', stream: true, messages: [{ role: 'user', content }] }),
    });

  test('short streams complete, long ones end with an error, and both are charged', async () => {
    const [short, long] = await Promise.all([
      Promise.all(Array.from({ length: STREAMS / 2 }, () => sendRequest('short [[tokens=20]] [[pace=20]]'))),
      Promise.all(Array.from({ length: STREAMS / 2 }, () => sendRequest('long [[tokens=2000]] [[pace=40]]'))),
    ]);
    const texts = Promise.all([...short, ...long].map((answer) => answer.text()));
    const ids = [...short, ...long].map((answer) => answer.headers.get('x-request-id'));
    const startedAt = performance.now();
    const closing = app.close();
    const refusal = await sendRequest('too late');
    expect([refusal.status, await refusal.json()]).toMatchObject([503, { error: { code: 'pod_draining' } }]);
    const completeTexts = await texts;
    for (const text of completeTexts.slice(0, STREAMS / 2)) expect(text).toContain('data: [DONE]');
    for (const text of completeTexts.slice(STREAMS / 2)) {
      expect(text).not.toContain('[DONE]');
      expect(text.trim().split('\n\n').at(-1)).toContain('"code":"stream_interrupted"');
    }
    await closing;
    // The long streams would have taken more than a minute.
    expect(performance.now() - startedAt).toBeLessThan(40_000);
    // A connection of the test's own, because the service has closed its pool.
    const rows = await queryRows<StoppingRecord>(
      database.ownerUrl,
      `SELECT code, output_tokens, cost_nano FROM request_record WHERE request_id IN ('${ids.join("', '")}')`,
    );
    expect(rows).toHaveLength(STREAMS);
    expect(rows.filter(({ code }) => code === null)).toHaveLength(STREAMS / 2);
    for (const { output_tokens: tokens, cost_nano: cost } of rows)
      expect([tokens > 0, BigInt(cost) > 0n]).toEqual([true, true]);
  });
});

describe('Shutdown with DRAIN_NOTICE', () => {
  test('readiness fails first, requests are served until the notice ends, and connections are closed', async () => {
    const app = await startTestApp({ environment: { DRAIN_TIMEOUT: '5s', DRAIN_NOTICE: '2s' } });
    const models = (): Promise<Response> =>
      fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${app.firstKeys?.demo}` } });
    expect((await models()).headers.get('connection')).toBe('keep-alive');
    const startedAt = performance.now();
    const closing = app.close();
    const readiness = await fetch(`${app.url}/health/ready`);
    expect([readiness.status, await readiness.json()]).toMatchObject([
      503,
      { error: { code: 'pod_draining' } },
    ]);
    const duringNotice = await models();
    expect([duringNotice.status, duringNotice.headers.get('connection')]).toEqual([200, 'close']);
    await closing;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000);
    await expect(models()).rejects.toThrow();
  });
});
