import { startTestApp, type TestApp } from '../../support/app';

interface Told {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly isMessages: boolean;
}

describe('addresses that are not served', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp({ environment: { CORS_ORIGINS: 'https://app.example' } });
  });
  afterAll(() => app.close());

  async function ask(path: string, method = 'POST', headers: Record<string, string> = {}): Promise<Told> {
    const answer = await fetch(`${app.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(method === 'POST' && { body: '{}' }),
    });
    const body = (await answer.json()) as { type?: string; error: { code: string; human_message: string } };
    const { code, human_message: text } = body.error;
    return { status: answer.status, code, text, isMessages: body.type === 'error' };
  }

  test.each([
    ['/v1/v1/chat/completions', /twice/],
    ['/v1/v1/messages', /twice/],
    ['/chat/completions', /lacks \/v1/],
    ['/responses', /lacks \/v1/],
    ['/messages', /lacks \/v1/],
    ['/api/v1/chat/completions', /before \/v1.*\/v1\/chat\/completions/],
    ['/openai/v1/embeddings', /before \/v1.*\/v1\/embeddings/],
    ['/v1/chat/completions/chat/completions', /holds the route already/],
    ['/v1/chat/completions/', /slash/],
  ])('%s says which mistake it is', async (path, words) => {
    const { status, code, text } = await ask(path);
    expect([status, code]).toEqual([404, 'not_found']);
    expect(text).toMatch(words);
  });

  test.each([
    '/v1/files',
    '/v1/batches',
    '/v1/fine_tuning/jobs',
    '/v1/vector_stores/vs_1/files',
    '/v1/messages/batches',
    '/v1/images/edits',
    '/v1beta/models/gemini-x:generateContent',
  ])('%s is known and not offered', async (path) => {
    const { status, code, text } = await ask(path);
    expect([status, code]).toEqual([501, 'not_implemented']);
    expect(text).toContain(`POST ${path} is not offered here`);
    expect(text).toContain('/v1/chat/completions, ');
  });

  test.each([
    ['POST', '/v1/responses/compact'],
    ['POST', '/v1/responses/input_tokens'],
    ['GET', '/v1/chat/completions'],
    ['DELETE', '/v1/models/ft:small'],
    ['POST', '/v1/models/x:generateContent'],
    ['POST', '/v1/models/x:streamGenerateContent'],
  ])('answers %s %s with 501 although the path is served under another method', async (method, path) => {
    const { status, code, text } = await ask(path, method);
    expect([status, code]).toEqual([501, 'not_implemented']);
    expect(text).toContain(`${method} ${path} is not offered here`);
  });

  test.each([
    ['PUT', '/v1/responses/compact', 'GET, HEAD, DELETE'],
    ['PUT', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['POST', '/v1/models/x', 'GET, HEAD'],
  ])('answers %s %s, a route of no vendor, with 405', async (method, path, allowed) => {
    const answer = await fetch(`${app.url}${path}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  test.each([
    ['/v1/assistants', /ended/],
    ['/v1/threads/thread_1/runs', /ended/],
    ['/v1/complete', /ended/],
    ['/v1/never/was', /There is no POST \/v1\/never\/was.*\/v1\/messages/],
  ])('%s ended or never was', async (path, words) => {
    const { status, code, text } = await ask(path);
    expect([status, code]).toEqual([404, 'not_found']);
    expect(text).toMatch(words);
  });

  test('explains only paths of at most 200 characters and 12 segments', async () => {
    const segments = (count: number): string => `/${'a/'.repeat(count - 1)}v1/messages`;
    for (const path of [segments(11), `/${'a'.repeat(187)}/v1/messages`])
      expect(await ask(path)).toMatchObject({ status: 404, text: expect.stringMatching(/before \/v1/) });
    for (const path of [segments(12), `/${'a'.repeat(188)}/v1/messages`]) {
      const answer = await fetch(`${app.url}${path}`, { method: 'POST' });
      expect(await answer.json()).toMatchObject({
        code: 'not_found',
        human_message: expect.not.stringMatching(/v1/),
      });
    }
    const { status, text } = await ask(`/v1/chat/completions${'/a'.repeat(10)}/chat/completions`);
    expect([status, text]).toEqual([404, 'The path is longer than any that is served.']);
  });

  test("the refusal is in the caller's own dialect", async () => {
    expect(await ask('/v1/files', 'GET', { 'anthropic-version': '2023-06-01' })).toMatchObject({
      status: 501,
      isMessages: true,
    });
    expect((await ask('/v1/files', 'GET', { 'vendor-version': '2023-06-01' })).isMessages).toBe(true);
    expect((await ask('/v1/files', 'GET')).isMessages).toBe(false);
    expect((await ask('/v1/messages/batches', 'GET')).isMessages).toBe(true);
  });

  test('pages and other paths are answered as ever', async () => {
    const page = await fetch(`${app.url}/chat/completions`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    const other = await fetch(`${app.url}/no/such/path`, { method: 'POST' });
    expect(await other.json()).toMatchObject({ code: 'not_found' });
  });

  const preflight = (origin: string, path = '/v1/chat/completions'): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
      },
    });

  test('scripts of a listed origin may call the API, others may not', async () => {
    const allowed = await preflight('https://app.example');
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    expect(allowed.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
    expect(allowed.headers.get('access-control-allow-methods')).toContain('POST');
    const other = await preflight('https://evil.example');
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([204, null]);
    expect(
      (await preflight('https://app.example', '/dashboard')).headers.get('access-control-allow-origin'),
    ).toBe(null);
    const answer = await fetch(`${app.url}/v1/models`, { headers: { origin: 'https://app.example' } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-svc-cost-usd');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });
});
