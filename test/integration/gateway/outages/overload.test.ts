import { Lifecycle } from '#product/gateway';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';

const MOST_OPEN = 5;
const TOO_MANY = 20;

describe('more than the service can carry', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { OPEN_REQUESTS_LIMIT: String(MOST_OPEN), SETTLE_ACK: 'journal' },
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const ask = (signal?: AbortSignal): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
      ...(signal && { signal }),
    });

  test('what fits is under way; the rest is refused while it is, and keeps nobody else waiting', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: MOST_OPEN });
    const leaver = new AbortController();
    const held = Array.from({ length: MOST_OPEN }, () => ask(leaver.signal).catch(() => null));
    await supplier.waitForRequests(MOST_OPEN);
    // The places are taken until this test gives them up: what is refused has not waited for one.
    const refused = await Promise.all(Array.from({ length: TOO_MANY }, () => ask()));
    for (const answer of refused) {
      const { error } = (await answer.json()) as { error: { code: string } };
      expect([answer.status, error.code, answer.headers.get('retry-after')]).toEqual([
        503,
        'capacity_exceeded',
        '1',
      ]);
    }
    // Health, lists and the portal take no places.
    for (const path of ['/health', '/v1/errors', '/login']) {
      expect([path, (await fetch(`${app.url}${path}`)).status]).toEqual([path, 200]);
    }
    leaver.abort();
    expect(await Promise.all(held)).toEqual(held.map(() => null));
  });

  test('neither a refused request nor one whose caller left keeps a place', async () => {
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
    const answers = await Promise.all(Array.from({ length: MOST_OPEN }, () => ask()));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});
