import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Lifecycle } from '#product/gateway';
import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';
import { addKey, addUser } from '../../support/people';
import { ask, open, parseAnswer, readToEnd } from './raw-exchange';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.stop());
afterEach(() => simulator.clearFaults());

const question = (stream: boolean): string =>
  JSON.stringify({
    model: 'sim-small',
    stream,
    messages: [{ role: 'user', content: 'Count to a hundred.' }],
  });

async function start(lean: string, environment: Record<string, string> = {}) {
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

/** Settles once nothing is under way any more; fails when something never ends. */
async function idle(app: TestApp): Promise<void> {
  const lifecycle = app.application.get(Lifecycle);
  await lifecycle.waitUntilIdle(15_000);
  expect(lifecycle.openRequests).toBe(0);
}

describe.each(['true', 'false'])('bodies and streams, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;
  let key: string;

  beforeAll(async () => {
    ({ app, key } = await start(lean));
  });
  afterAll(() => app.close());
  beforeEach(() => simulator.clearRequests());

  test('the first real path: answered, accounted for, on record', async () => {
    const answer = await ask(app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: question(false),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'x-svc-supplier': 'sandbox', 'x-svc-failover': 'false' });
    const rows = await app.database.query('SELECT status FROM request_record WHERE request_id = $1', [
      answer.headers['x-request-id'],
    ]);
    expect(rows).toHaveLength(1);
  });

  test('a caller who goes in the middle of a body leaves nothing behind', async () => {
    const socket = await open(app.url);
    socket.write(head(key, 1_000_000) + '{"model":');
    await new Promise(setImmediate);
    socket.destroy();
    await idle(app);
    expect((await simulator.requests()).length).toBe(0);
  });

  test('a caller who goes in the middle of a stream takes the supplier along', async () => {
    await simulator.addFault({ fault: { kind: 'stall', after: 3, ms: 20_000 } });
    const socket = await open(app.url);
    send(socket, key, question(true));
    let text = '';
    while (!text.includes('data: ')) text += String((await once(socket, 'data'))[0]);
    socket.destroy();
    await simulator.waitForClosed(1, 'client-closed', 10_000);
    await idle(app);
    expect((await ask(app.url, { path: '/health' })).status).toBe(200);
  });
});

test.each(['true', 'false'])(
  'stopping waits for open streams and refuses new ones, with LEAN_ADAPTER=%s',
  async (lean) => {
    const { app, key } = await start(lean);
    await simulator.addFault({ match: { nth: 1 }, fault: { kind: 'stall', after: 3, ms: 4_000 } });
    const streaming = await open(app.url);
    const whole = readToEnd(streaming);
    send(streaming, key, question(true));
    await once(streaming, 'data');

    const closing = app.close();
    expect(await ask(app.url, { path: '/health/ready' })).toMatchObject({ status: 503 });
    const refused = await ask(app.url, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: question(false),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(JSON.parse(refused.body)).toHaveProperty('error.code', 'pod_draining');

    await closing;
    const answer = parseAnswer(await whole);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('data: [DONE]');
    await expect(open(app.url)).rejects.toThrow('ECONNREFUSED');
  },
);

test('stopping does not wait for ever, and may be asked for twice', async () => {
  const { app, key } = await start('true', { DRAIN_TIMEOUT: '300ms' });
  await simulator.addFault({ fault: { kind: 'stall', after: 3, ms: 60_000 } });
  const socket = await open(app.url);
  const whole = readToEnd(socket);
  send(socket, key, question(true));
  await once(socket, 'data');
  const startedAt = performance.now();
  await Promise.all([app.close(), app.close()]);
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  expect(await whole).not.toContain('[DONE]');
});
