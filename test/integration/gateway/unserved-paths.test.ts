import { startTestApp, type TestApp } from '../../support/app';

interface PathErrorResponse {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly isMessages: boolean;
}

describe('Unserved paths', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp({ environment: { CORS_ORIGINS: 'https://app.example' } });
  });
  afterAll(() => app.close());

  async function sendRequest(
    path: string,
    method = 'POST',
    headers: Record<string, string> = {},
  ): Promise<PathErrorResponse> {
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
  ])('%s returns 404 that names the mistake in the path', async (path, words) => {
    const { status, code, text } = await sendRequest(path);
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
  ])('%s returns 501 as a known route that is not offered', async (path) => {
    const { status, code, text } = await sendRequest(path);
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
  ])('returns 501 for %s %s although the path is served under another method', async (method, path) => {
    const { status, code, text } = await sendRequest(path, method);
    expect([status, code]).toEqual([501, 'not_implemented']);
    expect(text).toContain(`${method} ${path} is not offered here`);
  });

  test.each([
    ['PUT', '/v1/responses/compact', 'GET, HEAD, DELETE'],
    ['PUT', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['POST', '/v1/models/x', 'GET, HEAD'],
  ])('returns 405 for %s %s, which no vendor offers', async (method, path, allowed) => {
    const answer = await fetch(`${app.url}${path}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  test.each([
    ['/v1/assistants', /ended/],
    ['/v1/threads/thread_1/runs', /ended/],
    ['/v1/complete', /ended/],
    ['/v1/never/was', /There is no POST \/v1\/never\/was.*\/v1\/messages/],
  ])('%s returns 404 as a route that was retired or never existed', async (path, words) => {
    const { status, code, text } = await sendRequest(path);
    expect([status, code]).toEqual([404, 'not_found']);
    expect(text).toMatch(words);
  });

  test('explains only paths of at most 200 characters and 12 segments', async () => {
    const segments = (count: number): string => `/${'a/'.repeat(count - 1)}v1/messages`;
    for (const path of [segments(11), `/${'a'.repeat(187)}/v1/messages`])
      expect(await sendRequest(path)).toMatchObject({
        status: 404,
        text: expect.stringMatching(/before \/v1/),
      });
    for (const path of [segments(12), `/${'a'.repeat(188)}/v1/messages`]) {
      const answer = await fetch(`${app.url}${path}`, { method: 'POST' });
      expect(await answer.json()).toMatchObject({
        code: 'not_found',
        human_message: expect.not.stringMatching(/v1/),
      });
    }
    const { status, text } = await sendRequest(`/v1/chat/completions${'/a'.repeat(10)}/chat/completions`);
    expect([status, text]).toEqual([404, 'The path is longer than any that is served.']);
  });

  test("returns the error in the caller's dialect", async () => {
    expect(await sendRequest('/v1/files', 'GET', { 'anthropic-version': '2023-06-01' })).toMatchObject({
      status: 501,
      isMessages: true,
    });
    expect((await sendRequest('/v1/files', 'GET', { 'vendor-version': '2023-06-01' })).isMessages).toBe(true);
    expect((await sendRequest('/v1/files', 'GET')).isMessages).toBe(false);
    expect((await sendRequest('/v1/messages/batches', 'GET')).isMessages).toBe(true);
  });

  test('pages and unrelated paths keep their usual 404', async () => {
    const page = await fetch(`${app.url}/chat/completions`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    const otherPath = await fetch(`${app.url}/no/such/path`, { method: 'POST' });
    expect(await otherPath.json()).toMatchObject({ code: 'not_found' });
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

  test('CORS allows the API for scripts of a listed origin only', async () => {
    const listedOrigin = await preflight('https://app.example');
    expect([listedOrigin.status, listedOrigin.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    expect(listedOrigin.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
    expect(listedOrigin.headers.get('access-control-allow-methods')).toContain('POST');
    const unlistedOrigin = await preflight('https://evil.example');
    expect([unlistedOrigin.status, unlistedOrigin.headers.get('access-control-allow-origin')]).toEqual([
      204,
      null,
    ]);
    expect(
      (await preflight('https://app.example', '/dashboard')).headers.get('access-control-allow-origin'),
    ).toBe(null);
    const answer = await fetch(`${app.url}/v1/models`, { headers: { origin: 'https://app.example' } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-svc-cost-usd');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });
});
