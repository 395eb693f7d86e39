import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Lifecycle } from '#product/gateway';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { addKey, addUser } from '../../support/users';
import { sendRaw, open, parseAnswer, readToEnd } from './raw-exchange';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.stop());
afterEach(() => simulator.clearFaults());

const chatBody = (stream: boolean): string =>
  JSON.stringify({
    model: 'sim-small',
    stream,
    messages: [{ role: 'user', content: 'Count to a hundred.' }],
  });

async function startGateway(lean: string, environment: Record<string, string> = {}) {
  const app = await startTestApp({
    sandboxUrl: simulator.url,
    environment: { LEAN_ADAPTER: lean, DRAIN_TIMEOUT: '30s', ...environment },
  });
  return { app, key: (await addKey(app, await addUser(app))).text };
}

const head = (key: string, length: number): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\ncontent-length: ${length}\r\n\r\n`;

const send = (socket: Socket, key: string, body: string): boolean =>
  socket.write(head(key, Buffer.byteLength(body)) + body);

/** Resolves once no work is in progress; fails if some never ends. */
async function waitUntilIdle(app: TestApp): Promise<void> {
  const lifecycle = app.application.get(Lifecycle);
  await lifecycle.waitUntilIdle(15_000);
  expect(lifecycle.openRequests).toBe(0);
}

describe.each(['true', 'false'])('Bodies and streams, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;
  let key: string;

  beforeAll(async () => {
    ({ app, key } = await startGateway(lean));
  });
  afterAll(() => app.close());
  beforeEach(() => simulator.clearRequests());

  test('a chat request is answered, charged and logged', async () => {
    const answer = await sendRaw(app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: chatBody(false),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'x-svc-supplier': 'sandbox', 'x-svc-failover': 'false' });
    const rows = await app.database.query('SELECT status FROM request_record WHERE request_id = $1', [
      answer.headers['x-request-id'],
    ]);
    expect(rows).toHaveLength(1);
  });

  test('a caller who disconnects during the body leaves no work in progress', async () => {
    const socket = await open(app.url);
    socket.write(head(key, 1_000_000) + '{"model":');
    await new Promise(setImmediate);
    socket.destroy();
    await waitUntilIdle(app);
    expect((await simulator.requests()).length).toBe(0);
  });

  test("a caller who disconnects during a stream also cancels the supplier's stream", async () => {
    await simulator.addFault({ fault: { kind: 'stall', after: 3, ms: 20_000 } });
    const socket = await open(app.url);
    send(socket, key, chatBody(true));
    let text = '';
    while (!text.includes('data: ')) text += String((await once(socket, 'data'))[0]);
    socket.destroy();
    await simulator.waitForClosed(1, 'client-closed', 10_000);
    await waitUntilIdle(app);
    expect((await sendRaw(app.url, { path: '/health' })).status).toBe(200);
  });
});

test.each(['true', 'false'])(
  'shutdown waits for open streams and refuses new ones, with LEAN_ADAPTER=%s',
  async (lean) => {
    const { app, key } = await startGateway(lean);
    await simulator.addFault({ match: { nth: 1 }, fault: { kind: 'stall', after: 3, ms: 4_000 } });
    const streaming = await open(app.url);
    const completeResponse = readToEnd(streaming);
    send(streaming, key, chatBody(true));
    await once(streaming, 'data');

    const closing = app.close();
    expect(await sendRaw(app.url, { path: '/health/ready' })).toMatchObject({ status: 503 });
    const refusal = await sendRaw(app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: chatBody(false),
    });
    expect(refusal.status).toBe(503);
    expect(refusal.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(JSON.parse(refusal.body)).toHaveProperty('error.code', 'pod_draining');

    await closing;
    const answer = parseAnswer(await completeResponse);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('data: [DONE]');
    await expect(open(app.url)).rejects.toThrow('ECONNREFUSED');
  },
);

test('shutdown does not wait forever and can be requested twice', async () => {
  const { app, key } = await startGateway('true', { DRAIN_TIMEOUT: '300ms' });
  await simulator.addFault({ fault: { kind: 'stall', after: 3, ms: 60_000 } });
  const socket = await open(app.url);
  const completeResponse = readToEnd(socket);
  send(socket, key, chatBody(true));
  await once(socket, 'data');
  const startedAt = performance.now();
  await Promise.all([app.close(), app.close()]);
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  expect(await completeResponse).not.toContain('[DONE]');
});
