import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';

const sendRequest = (
  app: TestApp,
  path: string,
  key: string | undefined,
  extra: object = {},
): Promise<Response> =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'auto',
      ...(path === '/v1/responses'
        ? { input: 'hi' }
        : { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }),
      ...extra,
    }),
  });
const codeOf = async (answer: Response): Promise<string> =>
  ((await answer.json()) as { error: { code: string } }).error.code;

describe('Model auto with a default model', () => {
  let app: TestApp;
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator();
    app = await startTestApp({ sandboxUrl: simulator.url, environment: { AUTO_MODEL: 'sim-small' } });
  });
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const createKey = async (allowedModels: string[]): Promise<string> => {
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'narrow', allowed_models: allowedModels }),
    });
    return ((await createResponse.json()) as { key: string }).key;
  };

  test('auto is served by the default model, which the record names', async () => {
    const answer = await sendRequest(app, '/v1/messages', app.firstKeys?.demo);
    expect(answer.status).toBe(200);
    const [record] = await app.database.query<object>(
      'SELECT model, served_model FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    expect(record).toEqual({ model: 'auto', served_model: 'sim-small' });
  });

  test.each(['/v1/completions', '/v1/embeddings', '/v1/rerank'])(
    'auto returns 400 outside of conversations: %s',
    async (path) => {
      const fields = {
        prompt: 'x',
        input: 'x',
        query: 'x',
        documents: ['x'],
        stream: path.includes('native'),
      };
      const fieldNames = {
        '/v1/completions': ['prompt'],
        '/v1/embeddings': ['input'],
        '/v1/rerank': ['query', 'documents'],
        '/v1/native/responses': ['input', 'stream'],
      }[path];
      const body = Object.fromEntries(Object.entries(fields).filter(([name]) => fieldNames?.includes(name)));
      const answer = await fetch(`${app.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'auto', ...body }),
      });
      expect([answer.status, await codeOf(answer)]).toEqual([400, 'unsupported_auto_mode']);
    },
  );

  test('auto never uses a model that the key does not allow', async () => {
    const answer = await sendRequest(app, '/v1/messages', await createKey(['sim-large']));
    expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, 'sim-large']);
  });
});

describe('Model auto without a default model', () => {
  let app: TestApp;
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator();
    app = await startTestApp({
      sandboxUrl: simulator.url,
      environment: { STREAM_PING_INTERVAL: '100ms' },
    });
  });
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  test.each(['/v1/chat/completions', '/v1/messages', '/v1/responses'])(
    'auto uses the first model that the caller can call: %s',
    async (path) => expect((await sendRequest(app, path, app.firstKeys?.demo)).status).toBe(200),
  );

  test('auto returns 400 when the key allows no chat model', async () => {
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'no chat', allowed_models: ['sim-embed'] }),
    });
    const { key } = (await createResponse.json()) as { key: string };
    const answer = await sendRequest(app, '/v1/messages', key);
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'invalid_request']);
  });

  test.each([
    ['/v1/chat/completions', ': ping\n\n'],
    ['/v1/messages', 'event: ping\ndata: {"type":"ping"}\n\n'],
    ['/v1/responses', ': ping\n\n'],
  ])('silent stream receives keep-alive pings: %s', async (path, sign) => {
    await simulator.addFault({ times: 1, fault: { kind: 'stall', after: 8, ms: 3_000 } });
    const answer = await sendRequest(app, path, app.firstKeys?.demo, { model: 'sim-large', stream: true });
    const text = await answer.text();
    expect(text.split(sign).length).toBeGreaterThan(2);
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
  });
});
