import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';

const ask = (app: TestApp, path: string, key: string | undefined, extra: object = {}): Promise<Response> =>
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

describe('the model auto', () => {
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

  const keyFor = async (allowedModels: string[]): Promise<string> => {
    const made = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'narrow', allowed_models: allowedModels }),
    });
    return ((await made.json()) as { key: string }).key;
  };

  test('is answered by the reference model, and the record says by which', async () => {
    const answer = await ask(app, '/v1/messages', app.firstKeys?.demo);
    expect(answer.status).toBe(200);
    const [record] = await app.database.query<object>(
      'SELECT model, served_model FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    expect(record).toEqual({ model: 'auto', served_model: 'sim-small' });
  });

  test.each(['/v1/completions', '/v1/embeddings', '/v1/rerank'])('is for conversations: %s', async (path) => {
    const fields = {
      prompt: 'x',
      input: 'x',
      query: 'x',
      documents: ['x'],
      stream: path.includes('native'),
    };
    const wanted = {
      '/v1/completions': ['prompt'],
      '/v1/embeddings': ['input'],
      '/v1/rerank': ['query', 'documents'],
      '/v1/native/responses': ['input', 'stream'],
    }[path];
    const body = Object.fromEntries(Object.entries(fields).filter(([name]) => wanted?.includes(name)));
    const answer = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', ...body }),
    });
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'unsupported_auto_mode']);
  });

  test('never leads to a model that the key does not allow', async () => {
    const answer = await ask(app, '/v1/messages', await keyFor(['sim-large']));
    expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, 'sim-large']);
  });
});

describe('the model auto, left to itself', () => {
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
    'takes the first model the caller may use: %s',
    async (path) => expect((await ask(app, path, app.firstKeys?.demo)).status).toBe(200),
  );

  test('says so when there is none', async () => {
    const made = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'no chat', allowed_models: ['sim-embed'] }),
    });
    const { key } = (await made.json()) as { key: string };
    const answer = await ask(app, '/v1/messages', key);
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'invalid_request']);
  });

  test.each([
    ['/v1/chat/completions', ': ping\n\n'],
    ['/v1/messages', 'event: ping\ndata: {"type":"ping"}\n\n'],
    ['/v1/responses', ': ping\n\n'],
  ])('a silent stream gets signs of life: %s', async (path, sign) => {
    await simulator.addFault({ times: 1, fault: { kind: 'stall', after: 8, ms: 3_000 } });
    const answer = await ask(app, path, app.firstKeys?.demo, { model: 'sim-large', stream: true });
    const text = await answer.text();
    expect(text.split(sign).length).toBeGreaterThan(2);
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
  });
});
