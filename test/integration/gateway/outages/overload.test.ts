import { Lifecycle } from '../../../../src/gateway';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';

const MOST_OPEN = 5;
const ANSWER_MS = 50;

// Times are measured on a machine that others use too: what really is slow is slow every time.
jest.retryTimes(3);

describe('more than the service can carry', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { OPEN_REQUESTS_LIMIT: String(MOST_OPEN), SETTLE_ACK: 'journal' },
    });
    await supplier.addFault({ fault: { kind: 'delay', ms: ANSWER_MS } });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  interface Outcome {
    readonly status: number;
    readonly code: string | undefined;
    readonly retryAfter: string | null;
    readonly tookMs: number;
  }

  const ask = async (): Promise<Outcome> => {
    const startedAt = performance.now();
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
    });
    const body = (await answer.json()) as { error?: { code: string } };
    return {
      status: answer.status,
      code: body.error?.code,
      retryAfter: answer.headers.get('retry-after'),
      tookMs: performance.now() - startedAt,
    };
  };

  /** So many a second, however long the answers take. */
  async function offer(perSecond: number, seconds: number): Promise<Outcome[]> {
    const outcomes: Promise<Outcome>[] = [];
    const startedAt = performance.now();
    for (let due = 0; due < perSecond * seconds;) {
      const owed = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1_000) * perSecond);
      for (; due < owed; due += 1) outcomes.push(ask());
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return Promise.all(outcomes);
  }

  /** What is served when every place is taken again the moment it is free. */
  async function peak(seconds: number): Promise<number> {
    const until = performance.now() + seconds * 1_000;
    let served = 0;
    await Promise.all(
      Array.from({ length: MOST_OPEN }, async () => {
        while (performance.now() < until) if ((await ask()).status === 200) served += 1;
      }),
    );
    return served / seconds;
  }

  test('three times as much: what fits is served as ever, the rest is refused at once', async () => {
    await peak(0.3);
    const most = await peak(1);
    const outcomes = await offer(Math.round(most * 3), 1);
    const served = outcomes.filter(({ status }) => status === 200);
    const refused = outcomes.filter(({ status }) => status !== 200);
    expect(served.length).toBeGreaterThan(most * 0.8);
    expect(refused.length).toBeGreaterThan(most);
    for (const { status, code, retryAfter } of refused) {
      expect([status, code, retryAfter]).toEqual([503, 'capacity_exceeded', '1']);
    }
    const times = refused.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    expect(times[Math.floor(times.length / 2)]).toBeLessThan(50);
    // Others are not kept waiting: health, lists and the portal take no places.
    const health = await fetch(`${app.url}/health`);
    expect(health.status).toBe(200);
  });

  test('a refused request leaves no place taken', async () => {
    await app.application.get(Lifecycle).idle(5_000);
    const outcomes = await Promise.all(Array.from({ length: MOST_OPEN }, ask));
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 200));
  });
});
