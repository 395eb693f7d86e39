import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Escrow } from '#product/billing';
import { Lifecycle } from '#product/gateway';
import { until } from '../../support/until';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';

describe('Client disconnect before a response', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());

  const paths = {
    chat: '/v1/chat/completions',
    messages: '/v1/messages',
  } as const;

  /** Sends a request and disconnects once the supplier has received it. */
  const requestAndDisconnect = async (path: string, more: object): Promise<string> => {
    const controller = new AbortController();
    const id = randomUUID();
    const pendingRequest = fetch(`${app.url}${path}`, {
      method: 'POST',
      signal: controller.signal,
      headers: {
        authorization: `Bearer ${app.firstKeys?.demo}`,
        'content-type': 'application/json',
        'x-request-id': id,
      },
      body: JSON.stringify({
        model: 'sim-small',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'A question of a few words.' }],
        ...more,
      }),
    });
    await supplier.waitForRequests(1);
    controller.abort();
    await expect(pendingRequest).rejects.toThrow();
    await supplier.waitForClosed(1, 'client-closed');
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
    return id;
  };

  const recordsOf = (id: string): Promise<Record<string, unknown>[]> =>
    app.database.query('SELECT * FROM request_record WHERE request_id = $1', [id]);

  test.each([
    ['chat', { stream: false }],
    ['chat', { stream: true }],
    ['messages', { stream: false }],
    ['messages', { stream: true }],
  ] as const)(
    'client that disconnects pays once for what the supplier received: %s %p',
    async (dialect, how) => {
      await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
      const records = await recordsOf(await requestAndDisconnect(paths[dialect], how));
      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({
        code: 'caller_left',
        status: 499,
        output_tokens: 0,
        usage_source: 'estimated',
        supplier: 'sandbox',
      });
      const { input_tokens: tokens, cost_nano: cost } = records[0]!;
      expect(tokens).toBeGreaterThan(10);
      const log = app.log.join('\n');
      expect(log).toContain('caller left');
      expect(log).not.toMatch(/"level":"error"|\n +at /);
      // $0.15 per 1M tokens.
      expect(cost).toBe(String(Number(tokens) * 150));
    },
  );

  /** The client half-closes the connection with the request, or once the supplier is working. */
  test.each(['at once', 'later'])(
    'half-closed connection is recorded as caller_left (closed %s)',
    async (when) => {
      await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
      await supplier.clearRequests();
      const id = randomUUID();
      const body = JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: 'Half a question.' }],
      });
      const { hostname, port } = new URL(app.url);
      const socket = connect(Number(port), hostname);
      const request =
        `POST ${paths.chat} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${app.firstKeys?.demo}\r\n` +
        `content-type: application/json\r\nx-request-id: ${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      if (when === 'at once') socket.end(request);
      else {
        socket.write(request);
        await supplier.waitForRequests(1);
        socket.end();
      }
      await until(async () => (await recordsOf(id)).length === 1);
      expect(await recordsOf(id)).toMatchObject([{ code: 'caller_left', status: 499, output_tokens: 0 }]);
      socket.destroy();
    },
  );

  test('disconnected requests leave no hold behind', () => {
    expect(app.application.get(Escrow).holds).toBe(0);
  });
});

// "A key paused mid-answer pays $0 while the supplier works".
describe('Key paused or revoked while the supplier works', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const manage = (path: string, method: string, body?: object): Promise<Response> =>
    fetch(`${app.url}/v1/manage/keys${path}`, {
      method,
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });

  test.each([
    ['paused', false],
    ['paused', true],
    ['revoked', false],
    ['revoked', true],
  ] as const)('key %s mid-request pays for what the supplier received, stream %p', async (how, stream) => {
    await supplier.clearRequests();
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const createResponse = await manage('', 'POST', { name: `${how} ${stream}` });
    const { id, key } = (await createResponse.json()) as { id: string; key: string };
    const requestId = randomUUID();
    const pendingRequest = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
      },
      body: JSON.stringify({
        model: 'sim-small',
        stream,
        messages: [{ role: 'user', content: 'A question of a few words.' }],
      }),
    });
    await supplier.waitForRequests(1);
    const keyResponse =
      how === 'paused'
        ? await manage(`/${id}`, 'PATCH', { status: 'disabled' })
        : await manage(`/${id}`, 'DELETE');
    expect(keyResponse.status).toBe(200);
    expect(await (await pendingRequest).text()).toContain('stream_interrupted');
    const records = await app.database.query<{ input_tokens: number; cost_nano: string }>(
      'SELECT input_tokens, cost_nano, code, usage_source FROM request_record WHERE request_id = $1',
      [requestId],
    );
    expect(records).toMatchObject([{ code: 'stream_interrupted', usage_source: 'estimated' }]);
    expect(records[0]!.input_tokens).toBeGreaterThan(10);
    expect(records[0]!.cost_nano).toBe(String(records[0]!.input_tokens * 150));
    expect(app.application.get(Escrow).holds).toBe(0);
  });
});

describe('Client cut off by a shutdown', () => {
  test('request cut off before a response costs nothing', async () => {
    const supplier = await startSimulator();
    const app = await startTestApp({ sandboxUrl: supplier.url });
    await supplier.addFault({ fault: { kind: 'hang' }, times: 1 });
    const pendingRequest = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Too late.' }] }),
    });
    await supplier.waitForRequests(1);
    await app.application.get(Lifecycle).drain(10);
    const answer = await pendingRequest;
    expect(await answer.json()).toMatchObject({ error: { code: 'stream_interrupted' } });
    const records = await app.database.query<{ cost_nano: string }>(
      'SELECT cost_nano FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    expect(records.map(({ cost_nano: cost }) => cost)).toEqual(['0']);
    await app.close();
    await supplier.stop();
  });
});
