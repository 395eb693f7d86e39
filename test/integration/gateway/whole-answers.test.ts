import { startTestApp, type TestApp } from '../../support/app';
import { wavOf } from '../../support/recordings';
import { type ScriptedAnswer, ScriptedSupplier } from '../../support/scripted-supplier';
import { CatalogueEditor, CatalogueService } from '#product/catalogue';
import { ModelShelf } from './model-shelf';

interface Failure {
  readonly code: string;
  readonly param: string | null;
  readonly retryable: boolean;
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chatAnswer = (message: object, reason: string | null = 'stop'): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-name',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
  usage,
});
const messagesAnswer = (content: object[], reason: string | null): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'upstream-name',
  content,
  stop_reason: reason,
  usage: { input_tokens: 10, output_tokens: 5 },
});

describe('a whole answer', () => {
  let app: TestApp;
  let first: ScriptedSupplier;
  let backup: ScriptedSupplier;
  let shelf: ModelShelf;
  let made = 0;

  beforeAll(async () => {
    [first, backup] = await Promise.all([ScriptedSupplier.start(), ScriptedSupplier.start()]);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    shelf = new ModelShelf(app);
    for (const [place, { url: baseUrl }] of [
      ['first', first],
      ['backup', backup],
    ] as const) {
      const bearer = { label: 'one', kind: 'bearer', secret: 'sk-canary-of-ours' } as const;
      const settings = { profile: 'openai' };
      const header = { ...bearer, kind: 'header' } as const;
      await shelf.provider({
        name: `chat-${place}`,
        style: 'openai-style',
        baseUrl,
        settings,
        credentials: [bearer],
      });
      await shelf.provider({
        name: `plain-${place}`,
        style: 'openai-style',
        baseUrl,
        credentials: [bearer],
      });
      await shelf.provider({
        name: `messages-${place}`,
        style: 'messages-style',
        baseUrl,
        credentials: [header],
      });
      await shelf.provider({ name: `gemini-${place}`, style: 'gemini', baseUrl, credentials: [header] });
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([first.stop(), backup.stop()]);
  });

  /** Each on a model of its own, so that no breaker of another opens. */
  const modelOn = async (style: string, places: readonly string[], kind = 'chat'): Promise<string> => {
    const name = `whole-${(made += 1)}`;
    await shelf.model(
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
  const failureIn = (text: string): Failure => (JSON.parse(text) as { error: Failure }).error;
  const messages = [{ role: 'user', content: 'Hello' }];
  const recording = (): FormData => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(wavOf({ seconds: 1 }))]), 'a.wav');
    return form;
  };

  type Asking = (model: string) => object | FormData;
  const routes: Record<string, { path: string; style: string; kind?: string; body: Asking }> = {
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

  const ask = async (route: string, places: readonly string[], answer: ScriptedAnswer) => {
    const { path, style, kind, body } = routes[route]!;
    const model = await modelOn(style, places, kind);
    first.answer = answer;
    return { ...(await post(path, body(model))), model };
  };

  const noAnswers: [string, object | string, string][] = Object.keys(routes).flatMap((route) => [
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
  noAnswers.push(
    ['chat', { choices: [] }, 'upstream_invalid_response'],
    ['chat', { choices: [{}] }, 'upstream_invalid_response'],
    ['chat', chatAnswer({ content: '' }, null), 'empty_response'],
    ['completions', { choices: [{ index: 0 }] }, 'upstream_invalid_response'],
    ['messages', messagesAnswer([], null), 'empty_response'],
    [
      'messages',
      { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
      'upstream_unavailable',
    ],
    ['responses', { object: 'response', status: 'in_progress', output: [] }, 'upstream_invalid_response'],
    ['responses', { object: 'response', status: 'failed', output: [], error: null }, 'upstream_error'],
    ['embeddings', { data: [] }, 'upstream_invalid_response'],
    ['transcription', { words: [] }, 'upstream_invalid_response'],
    // The order does not say which document is meant, and how much.
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

  test.each(noAnswers)('of %s that is none, %j, is %s, free, and the next lane answers', async (...row) => {
    const [route, body, code] = row;
    const alone = await ask(route, ['first'], { body });
    const failure = failureIn(alone.text);
    expect([alone.status >= 500, failure.code, failure.param]).toEqual([true, code, null]);
    expect(failure.retryable).toBe(true);
    expect(alone.record).toMatchObject({ cost_nano: '0', code });
    backup.answer = { status: 400, body: { error: { message: 'the backup was asked' } } };
    const before = backup.heard.length;
    await ask(route, ['first', 'backup'], { body });
    expect(backup.heard.length).toBe(before + 1);
  });

  test('of sound that is an error in truth is one', async () => {
    for (const type of ['audio/mpeg', 'application/octet-stream', 'application/json']) {
      const answer = await ask('speech', ['first'], {
        headers: { 'content-type': type },
        body: { error: { message: 'no voice', type: 'server_error' } },
      });
      expect([answer.status, failureIn(answer.text).code]).toEqual([503, 'upstream_unavailable']);
    }
  });

  test("that reports the caller's own mistake with a 200 is that mistake", async () => {
    const answer = await ask('chat', ['first', 'backup'], {
      body: { error: { message: 'bad temperature', type: 'invalid_request_error', param: 'temperature' } },
    });
    expect(answer.status).toBe(400);
    expect(failureIn(answer.text)).toMatchObject({ code: 'invalid_request', param: 'temperature' });
  });

  test.each<[string, object]>([
    ['messages', messagesAnswer([], 'end_turn')],
    ['chat', chatAnswer({ content: '' }, 'stop')],
    ['chat', chatAnswer({ content: '', reasoning_content: 'hm' }, 'length')],
    ['chat', chatAnswer({ content: null, refusal: 'No.' })],
    [
      'chat',
      chatAnswer(
        {
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        'tool_calls',
      ),
    ],
    ['chat', { ...chatAnswer({ content: 'Hi' }), error: null }],
    ['messages', { ...messagesAnswer([], 'end_turn'), message: 'not an error' }],
    ['chat by messages', messagesAnswer([], 'end_turn')],
  ])('of %s that is legal stays one: %j', async (route, body) => {
    const answer = await ask(route, ['first'], { body });
    expect(answer.status).toBe(200);
    expect(answer.record).toMatchObject({ code: null, input_tokens: 10 });
  });

  test('bears our name of the model, and the rest as it came to the byte', async () => {
    const body = ` {\n  "id": "x", "object":"chat.completion", "model" : "upstream-name", "big": 12345678901234567890,\n"choices":[{"index":0,"message":{"role":"assistant","content":"h\\u0069"},"finish_reason":"stop"}],"usage":${JSON.stringify(usage)}}`;
    const answer = await ask('chat', ['first'], { body });
    expect(answer.text).toBe(body.replace('upstream-name', answer.model));
    expect(answer.headers.get('x-svc-upstream-model')).toBe(`up-${answer.model}`);
    for (const [route, plain] of [
      ['messages', messagesAnswer([{ type: 'text', text: 'Hi' }], 'end_turn')],
      ['chat by messages', messagesAnswer([{ type: 'text', text: 'Hi' }], 'end_turn')],
      ['embeddings', { model: 'upstream-name', data: [{ embedding: [1] }], usage: { prompt_tokens: 1 } }],
      ['rerank', { model: 'upstream-name', results: [{ index: 0, relevance_score: 1 }] }],
    ] as const) {
      const other = await ask(route, ['first'], { body: plain });
      expect([route, (JSON.parse(other.text) as { model: string }).model]).toEqual([route, other.model]);
      expect(other.headers.get('x-svc-upstream-model')).toBe(`up-${other.model}`);
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
  ])('of %s that comes as a stream (%s) is answered whole and charged', async (route, type, body) => {
    const answer = await ask(route, ['first'], { headers: { 'content-type': type }, body });
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
  ])('of %s that comes as a broken stream is none: %s', async (route, body, code) => {
    const answer = await ask(route, ['first'], { headers: { 'content-type': 'text/event-stream' }, body });
    expect(failureIn(answer.text).code).toBe(code);
    expect(answer.record).toMatchObject({ cost_nano: '0' });
  });

  test('is not fetched later', async () => {
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
