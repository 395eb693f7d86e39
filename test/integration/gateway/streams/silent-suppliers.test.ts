import { request as connect, type IncomingMessage } from 'node:http';
import { type FaultRule, type Simulator, startSimulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { TestCatalogue } from '../test-catalogue';

interface SilentStreamResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
  /** Order in which headers, pings and content arrived. */
  readonly order: readonly string[];
}

describe('Stream with a silent supplier', () => {
  let app: TestApp;
  let patientApp: TestApp;
  let supplier: Simulator;
  let modelCount = 0;

  beforeAll(async () => {
    supplier = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'eu' },
      ],
    });
    // The node sends no ping within 15 seconds.
    patientApp = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    app = await startTestApp({
      environment: {
        SUPPLIER_ALLOW: '127.0.0.1',
        STREAM_PING_INTERVAL: '300ms',
        SUPPLIER_FIRST_TOKEN_TIMEOUT: '1500ms',
        SUPPLIER_STREAM_FIRST_BYTE_TIMEOUT: '2500ms',
      },
    });
  });
  afterEach(() => supplier.clearFaults());
  afterAll(async () => {
    await app.close();
    await patientApp.close();
    await supplier.stop();
  });

  async function createModel(lanes: readonly string[], node = app): Promise<string> {
    const model = `silent-${(modelCount += 1)}`;
    const catalogue = new TestCatalogue(node);
    for (const lane of lanes)
      await catalogue.provider({
        name: `${model}-${lane}`,
        style: 'openai-style',
        baseUrl: supplier.lanes.find(({ name }) => name === lane)!.url,
        credentials: [{ label: 'test', kind: 'bearer', secret: 'sim-test' }],
      });
    await catalogue.model(
      model,
      lanes.map((lane, priority) => ({ provider: `${model}-${lane}`, priority })),
    );
    return model;
  }
  const addFault = (lane: string, what: FaultRule['fault']): Promise<number> =>
    supplier.addFault({ match: { lane }, fault: what });

  const readStream = (path: string, body: object, node: TestApp): Promise<SilentStreamResponse> =>
    new Promise((resolve, reject) => {
      const order: string[] = [];
      const headers = { authorization: `Bearer ${node.firstKeys?.demo}`, 'content-type': 'application/json' };
      const call = connect(`${node.url}${path}`, { method: 'POST', headers });
      call.on('error', reject);
      call.on('response', (answer) => {
        order.push('head');
        let text = '';
        answer.on('data', (piece: Buffer) => {
          text += piece.toString();
          const kind = /Hello|content|error/.test(piece.toString()) ? 'answer' : 'sign of life';
          if (order.at(-1) !== kind) order.push(kind);
        });
        answer.on('end', () =>
          resolve({
            status: answer.statusCode!,
            headers: answer.headers,
            trailers: answer.trailers,
            text,
            order,
          }),
        );
      });
      call.end(JSON.stringify(body));
    });
  const sendRequest = (path: string, model: string, node = app): Promise<SilentStreamResponse> =>
    readStream(
      path,
      { model, stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] },
      node,
    );

  test.each(['/v1/chat/completions', '/v1/messages'])(
    '%s headers name the first lane tried, and trailers the lane that answered',
    async (path) => {
      const model = await createModel(['first', 'second']);
      await addFault('first', { kind: 'hang' });
      const { status, headers, trailers, text, order } = await sendRequest(path, model);
      expect([status, headers['x-svc-supplier']]).toEqual([200, `${model}-first`]);
      expect(order.slice(0, 3)).toEqual(['head', 'sign of life', 'answer']);
      expect(trailers['x-svc-supplier']).toBe(`${model}-second`);
      expect(trailers['x-svc-failover']).toBe('true');
      expect(text).toMatch(path === '/v1/messages' ? /message_stop/ : /\[DONE\]/);
    },
  );

  test.each([
    ['/v1/chat/completions', /data: \{"error":\{"code":"upstream_timeout"/, /\[DONE\]/],
    ['/v1/messages', /event: error\ndata: .*upstream_timeout/, /message_stop/],
  ])('%s failure after the headers is reported in the stream', async (path, expectedError, terminator) => {
    const model = await createModel(['first']);
    await addFault('first', { kind: 'hang' });
    const { status, text, trailers } = await sendRequest(path, model);
    expect(status).toBe(200);
    expect(text).toMatch(expectedError);
    expect(text).not.toMatch(terminator);
    expect(trailers['x-svc-cost-usd']).toBeUndefined();
    const [record] = await app.database.query<{ status: number; cost_nano: string }>(
      'SELECT status, cost_nano FROM request_record WHERE model = $1',
      [model],
    );
    expect(record).toMatchObject({ status: 504, cost_nano: '0' });
  });

  test('headers name the answering lane when it answers in time', async () => {
    const model = await createModel(['first', 'second'], patientApp);
    await addFault('first', { kind: 'status', status: 500 });
    const { status, headers, trailers, order } = await sendRequest('/v1/chat/completions', model, patientApp);
    expect([status, headers['x-svc-supplier'], order[1]]).toEqual([200, `${model}-second`, 'answer']);
    expect(trailers['x-svc-supplier']).toBeUndefined();
  });
});
