import { startTestApp, type TestApp } from '../../support/app';
import { wavOf } from '../../support/recordings';
import { type ScriptedResponse, ScriptedSupplier } from '../../support/scripted-supplier';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { TestCatalogue } from './test-catalogue';

interface ResponseFailure {
  readonly code: string;
  readonly param: string | null;
  readonly retryable: boolean;
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chatResponse = (message: object, reason: string | null = 'stop'): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-name',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
  usage,
});
const messagesResponse = (content: object[], reason: string | null): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'upstream-name',
  content,
  stop_reason: reason,
  usage: { input_tokens: 10, output_tokens: 5 },
});

describe('Non-streaming responses', () => {
  let app: TestApp;
  let first: ScriptedSupplier;
  let backup: ScriptedSupplier;
  let catalogue: TestCatalogue;
  let modelCount = 0;

  beforeAll(async () => {
    [first, backup] = await Promise.all([ScriptedSupplier.start(), ScriptedSupplier.start()]);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    catalogue = new TestCatalogue(app);
    for (const [place, { url: baseUrl }] of [
      ['first', first],
      ['backup', backup],
    ] as const) {
      const bearer = { label: 'one', kind: 'bearer', secret: 'sk-canary-of-ours' } as const;
      const settings = { profile: 'openai' };
      const header = { ...bearer, kind: 'header' } as const;
      await catalogue.provider({
        name: `chat-${place}`,
        style: 'openai-style',
        baseUrl,
        settings,
        credentials: [bearer],
      });
      await catalogue.provider({
        name: `plain-${place}`,
        style: 'openai-style',
        baseUrl,
        credentials: [bearer],
      });
      await catalogue.provider({
        name: `messages-${place}`,
        style: 'messages-style',
        baseUrl,
        credentials: [header],
      });
      await catalogue.provider({ name: `gemini-${place}`, style: 'gemini', baseUrl, credentials: [header] });
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([first.stop(), backup.stop()]);
  });

  /** Creates a model per call, so that no circuit breaker of another test is open. */
  const createModel = async (style: string, places: readonly string[], kind = 'chat'): Promise<string> => {
    const name = `whole-${(modelCount += 1)}`;
    await catalogue.model(
      name,
      places.map((place, priority) => ({
        provider: `${style}-${place}`,
        upstreamModel: `up-${name}`,
        priority,
      })),
    );
    if (kind !== 'chat') {
      await app.database.transaction((tx) =>
        new CatalogueEditor().upsertModel(tx, { name, kind: kind as 'embedding', ownedBy: 'test' }),
      );
      await app.application.get(CatalogueService).reload();
    }
    return name;
  };

  const post = async (path: string, body: object | FormData) => {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${app.firstKeys?.demo}`,
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    const rows = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    );
    return { status: answer.status, headers: answer.headers, text, record: rows[0] };
  };
  const failureIn = (text: string): ResponseFailure => (JSON.parse(text) as { error: ResponseFailure }).error;
  const messages = [{ role: 'user', content: 'Hello' }];
  const recording = (): FormData => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(wavOf({ seconds: 1 }))]), 'a.wav');
    return form;
  };

  type BodyFactory = (model: string) => object | FormData;
  const routes: Record<string, { path: string; style: string; kind?: string; body: BodyFactory }> = {
    chat: { path: '/v1/chat/completions', style: 'chat', body: (model) => ({ model, messages }) },
    messages: {
      path: '/v1/messages',
      style: 'messages',
      body: (model) => ({ model, messages, max_tokens: 9 }),
    },
    responses: { path: '/v1/responses', style: 'chat', body: (model) => ({ model, input: 'Hello' }) },
    completions: { path: '/v1/completions', style: 'chat', body: (model) => ({ model, prompt: 'Hello' }) },
    'chat by messages': {
      path: '/v1/chat/completions',
      style: 'messages',
      body: (model) => ({ model, messages }),
    },
    'messages by gemini': {
      path: '/v1/messages',
      style: 'gemini',
      body: (model) => ({ model, messages, max_tokens: 9 }),
    },
    embeddings: {
      path: '/v1/embeddings',
      style: 'chat',
      kind: 'embedding',
      body: (model) => ({ model, input: 'Hello' }),
    },
    rerank: {
      path: '/v1/rerank',
      style: 'plain',
      kind: 'rerank',
      body: (model) => ({ model, query: 'a', documents: ['b'] }),
    },
    moderation: {
      path: '/v1/moderations',
      style: 'chat',
      kind: 'moderation',
      body: (model) => ({ model, input: 'Hello' }),
    },
    image: {
      path: '/v1/images/generations',
      style: 'chat',
      kind: 'image',
      body: (model) => ({ model, prompt: 'a' }),
    },
    speech: {
      path: '/v1/audio/speech',
      style: 'chat',
      kind: 'speech',
      body: (model) => ({ model, input: 'a', voice: 'alloy' }),
    },
    transcription: {
      path: '/v1/audio/transcriptions',
      style: 'chat',
      kind: 'transcription',
      body: (model) => {
        const form = recording();
        form.set('model', model);
        return form;
      },
    },
  };

  const sendRequest = async (route: string, places: readonly string[], answer: ScriptedResponse) => {
    const { path, style, kind, body } = routes[route]!;
    const model = await createModel(style, places, kind);
    first.answer = answer;
    return { ...(await post(path, body(model))), model };
  };

  const invalidResponses: [string, object | string, string][] = Object.keys(routes).flatMap((route) => [
    [route, { hello: 'there' }, 'upstream_invalid_response'],
    [route, [], 'upstream_invalid_response'],
    [route, ' \n', 'empty_response'],
    [
      route,
      { error: { message: 'down', type: 'server_error', status: 'UNAVAILABLE' } },
      'upstream_unavailable',
    ],
    [
      route,
      { error: { message: 'no such model', code: 'model_not_found', status: 'NOT_FOUND' } },
      'model_unavailable',
    ],
  ]);
  invalidResponses.push(
    ['chat', { choices: [] }, 'upstream_invalid_response'],
    ['chat', { choices: [{}] }, 'upstream_invalid_response'],
    ['chat', chatResponse({ content: '' }, null), 'empty_response'],
    ['completions', { choices: [{ index: 0 }] }, 'upstream_invalid_response'],
    ['messages', messagesResponse([], null), 'empty_response'],
    [
      'messages',
      { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
      'upstream_unavailable',
    ],
    ['responses', { object: 'response', status: 'in_progress', output: [] }, 'upstream_invalid_response'],
    ['responses', { object: 'response', status: 'failed', output: [], error: null }, 'upstream_error'],
    ['embeddings', { data: [] }, 'upstream_invalid_response'],
    ['transcription', { words: [] }, 'upstream_invalid_response'],
    // Without valid indexes, results cannot be matched to documents.
    ...[
      [{ relevance_score: 0.9 }],
      [{ index: -1, relevance_score: 0.9 }],
      [{ index: 1, relevance_score: 0.9 }],
      [{ index: '0', relevance_score: 0.9 }],
      [0.9, 0.2].map((relevance_score) => ({ index: 0, relevance_score })),
      [{ index: 0 }],
      ['pear cake'],
    ].map((results): [string, object, string] => ['rerank', { results }, 'upstream_invalid_response']),
  );

  test.each(invalidResponses)(
    'invalid %s response %j returns %s without a charge and fails over',
    async (...row) => {
      const [route, body, code] = row;
      const singleLane = await sendRequest(route, ['first'], { body });
      const failure = failureIn(singleLane.text);
      expect([singleLane.status >= 500, failure.code, failure.param]).toEqual([true, code, null]);
      expect(failure.retryable).toBe(true);
      expect(singleLane.record).toMatchObject({ cost_nano: '0', code });
      backup.answer = { status: 400, body: { error: { message: 'the backup was asked' } } };
      const requestsBefore = backup.requests.length;
      await sendRequest(route, ['first', 'backup'], { body });
      expect(backup.requests.length).toBe(requestsBefore + 1);
    },
  );

  test('speech response that is an error returns an error, whatever its content type', async () => {
    for (const type of ['audio/mpeg', 'application/octet-stream', 'application/json']) {
      const answer = await sendRequest('speech', ['first'], {
        headers: { 'content-type': type },
        body: { error: { message: 'no voice', type: 'server_error' } },
      });
      expect([answer.status, failureIn(answer.text).code]).toEqual([503, 'upstream_unavailable']);
    }
  });

  test('caller error reported with a 200 returns 400 without failover', async () => {
    const answer = await sendRequest('chat', ['first', 'backup'], {
      body: { error: { message: 'bad temperature', type: 'invalid_request_error', param: 'temperature' } },
    });
    expect(answer.status).toBe(400);
    expect(failureIn(answer.text)).toMatchObject({ code: 'invalid_request', param: 'temperature' });
  });

  test.each<[string, object]>([
    ['messages', messagesResponse([], 'end_turn')],
    ['chat', chatResponse({ content: '' }, 'stop')],
    ['chat', chatResponse({ content: '', reasoning_content: 'hm' }, 'length')],
    ['chat', chatResponse({ content: null, refusal: 'No.' })],
    [
      'chat',
      chatResponse(
        {
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        'tool_calls',
      ),
    ],
    ['chat', { ...chatResponse({ content: 'Hi' }), error: null }],
    ['messages', { ...messagesResponse([], 'end_turn'), message: 'not an error' }],
    ['chat by messages', messagesResponse([], 'end_turn')],
  ])('valid %s response is accepted: %j', async (route, body) => {
    const answer = await sendRequest(route, ['first'], { body });
    expect(answer.status).toBe(200);
    expect(answer.record).toMatchObject({ code: null, input_tokens: 10 });
  });

  test('model name is replaced, and everything else stays the same to the byte', async () => {
    const body = ` {\n  "id": "x", "object":"chat.completion", "model" : "upstream-name", "big": 12345678901234567890,\n"choices":[{"index":0,"message":{"role":"assistant","content":"h\\u0069"},"finish_reason":"stop"}],"usage":${JSON.stringify(usage)}}`;
    const answer = await sendRequest('chat', ['first'], { body });
    expect(answer.text).toBe(body.replace('upstream-name', answer.model));
    expect(answer.headers.get('x-svc-upstream-model')).toBe(`up-${answer.model}`);
    for (const [route, plain] of [
      ['messages', messagesResponse([{ type: 'text', text: 'Hi' }], 'end_turn')],
      ['chat by messages', messagesResponse([{ type: 'text', text: 'Hi' }], 'end_turn')],
      ['embeddings', { model: 'upstream-name', data: [{ embedding: [1] }], usage: { prompt_tokens: 1 } }],
      ['rerank', { model: 'upstream-name', results: [{ index: 0, relevance_score: 1 }] }],
    ] as const) {
      const result = await sendRequest(route, ['first'], { body: plain });
      expect([route, (JSON.parse(result.text) as { model: string }).model]).toEqual([route, result.model]);
      expect(result.headers.get('x-svc-upstream-model')).toBe(`up-${result.model}`);
    }
  });

  const events = (...list: (object | string)[]): string =>
    list.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
  const chunk = (delta: object, reason: string | null = null): object => ({
    id: 'c',
    model: 'upstream-name',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const chatEvents = events(
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({}, 'stop'),
    { id: 'c', choices: [], usage },
    '[DONE]',
  );
  const messagesEvents = [
    {
      type: 'message_start',
      message: { id: 'm', model: 'x', usage: { input_tokens: 10, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
  const completionEvents = events(
    { id: 'c', choices: [{ index: 0, text: 'Hel' }] },
    { id: 'c', choices: [{ index: 0, text: 'lo', finish_reason: 'stop' }], usage: null },
    { id: 'c', choices: [], usage },
    '[DONE]',
  );

  test.each([
    ['chat', 'text/event-stream', chatEvents],
    ['chat', 'application/json', `: hello\n\n${chatEvents}`],
    ['completions', 'text/event-stream; charset=utf-8', completionEvents],
    ['messages', 'text/event-stream', messagesEvents],
    ['messages', 'text/plain', messagesEvents],
    ['chat by messages', 'text/event-stream', messagesEvents],
  ])('%s response sent as a stream (%s) is returned as JSON and charged', async (route, type, body) => {
    const answer = await sendRequest(route, ['first'], { headers: { 'content-type': type }, body });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(answer.text).toMatch(/"(content|text)":"Hello"/);
    expect((JSON.parse(answer.text) as { model: string }).model).toBe(answer.model);
    expect(answer.record).toMatchObject({
      input_tokens: 10,
      output_tokens: 5,
      usage_source: 'supplier',
      cost_nano: '20000',
    });
  });

  test.each([
    ['chat', events('[DONE]'), 'empty_response'],
    ['chat', events(chunk({ content: 'Hel' })), 'agentcli_incomplete_stream'],
    ['completions', events({ choices: [{ index: 0, text: 'Hel' }] }), 'agentcli_incomplete_stream'],
    ['chat', events({ error: { message: 'down', type: 'server_error' } }), 'upstream_unavailable'],
    ['completions', events({ error: { message: 'down', type: 'server_error' } }), 'upstream_unavailable'],
  ])('%s response sent as a broken stream is an error: %s', async (route, body, code) => {
    const answer = await sendRequest(route, ['first'], {
      headers: { 'content-type': 'text/event-stream' },
      body,
    });
    expect(failureIn(answer.text).code).toBe(code);
    expect(answer.record).toMatchObject({ cost_nano: '0' });
  });

  test('background: true returns unsupported_parameter', async () => {
    for (const [path, body] of [
      ['/v1/responses', { input: 'Hello', background: true }],
      ['/v1/native/responses', { input: [], stream: true, background: true }],
    ] as const) {
      const answer = await post(path, { model: 'whole-1', ...body });
      expect(answer.status).toBe(400);
      expect(failureIn(answer.text)).toMatchObject({ code: 'unsupported_parameter', param: 'background' });
    }
  });
});
