import { Lifecycle } from '#product/gateway';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';

const MAX_OPEN = 5;
const EXCESS_REQUESTS = 20;

describe('Overload', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { OPEN_REQUESTS_LIMIT: String(MAX_OPEN), SETTLE_ACK: 'journal' },
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const sendRequest = (signal?: AbortSignal): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
      ...(signal && { signal }),
    });

  test('requests above the limit get 503 capacity_exceeded immediately, and other routes work', async () => {
    await supplier.addFault({ fault: { kind: 'hang' }, times: MAX_OPEN });
    const controller = new AbortController();
    const openRequests = Array.from({ length: MAX_OPEN }, () =>
      sendRequest(controller.signal).catch(() => null),
    );
    await supplier.waitForRequests(MAX_OPEN);
    // The slots stay taken until the test frees them, so a refusal cannot have waited for one.
    const refusals = await Promise.all(Array.from({ length: EXCESS_REQUESTS }, () => sendRequest()));
    for (const answer of refusals) {
      const { error } = (await answer.json()) as { error: { code: string } };
      expect([answer.status, error.code, answer.headers.get('retry-after')]).toEqual([
        503,
        'capacity_exceeded',
        '1',
      ]);
    }
    // Health checks, lists and the portal take no slots.
    for (const path of ['/health', '/v1/errors', '/login']) {
      expect([path, (await fetch(`${app.url}${path}`)).status]).toEqual([path, 200]);
    }
    controller.abort();
    expect(await Promise.all(openRequests)).toEqual(openRequests.map(() => null));
  });

  test('refused requests and disconnected clients free their slots', async () => {
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
    const answers = await Promise.all(Array.from({ length: MAX_OPEN }, () => sendRequest()));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});
