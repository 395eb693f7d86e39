import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ModelShelf } from './model-shelf';

/**
 * Clients need this of requests, streams and refusals, and `npm run prove:clients` does not look at it: no
 * client shows it.
 */

type Json = Record<string, unknown>;
interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

const models = ['on-chat', 'on-messages'] as const;
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const messagesTools = [
  { name: 'weather', description: 'The weather', input_schema: schema },
  { name: 'clock', description: 'The time', input_schema: { type: 'object', properties: {} } },
];
const chatTools = messagesTools.map(({ input_schema: parameters, ...rest }) => ({
  type: 'function',
  function: { ...rest, parameters },
}));
const twoTools =
  'Both? [[interleave]][[tool=weather({"city":"Graz, in the south"})]][[tool=weather({"city":"Ulm, by the river"})]]';

/** A later turn of an agent, with everything that only one dialect knows. */
const asAgent = (model: string, stream: boolean): Json => ({
  model,
  max_tokens: 1_000,
  stream,
  system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: 'Read the note.' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'sunny' }] },
        { type: 'text', text: 'And then? [[tokens=40]]', cache_control: { type: 'ephemeral' } },
      ],
    },
    { role: 'system', content: 'The user is in a hurry.' },
  ],
  tools: [messagesTools[0], { ...messagesTools[1], defer_loading: true }],
  thinking: { type: 'adaptive', display: 'summarized' },
  context_management: { edits: [] },
  output_config: { effort: 'medium' },
  metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' }) },
});

describe('clients get what they need', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', BODY_LIMIT: '2MiB' } });
    const shelf = new ModelShelf(app);
    const provider = { baseUrl: supplier.url };
    const credential = { label: 'key', secret: 'sim-key' };
    await shelf.provider({
      ...provider,
      name: 'chatty',
      style: 'openai-style',
      credentials: [{ ...credential, kind: 'bearer' }],
    });
    await shelf.provider({
      ...provider,
      name: 'wordy',
      style: 'messages-style',
      credentials: [{ ...credential, kind: 'header' }],
    });
    await shelf.model('on-chat', [{ provider: 'chatty' }]);
    await shelf.model('on-messages', [{ provider: 'wordy' }]);
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const demo = (): string => app.firstKeys?.demo ?? '';
  /** Clients of messages send their key in a header of its own. */
  const post = (
    path: string,
    body: object,
    headers: Record<string, string> = {},
    key = demo(),
  ): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: {
        ...(path.startsWith('/v1/messages') ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }),
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const ask = (model: string, text: string, rest: object = {}): Json => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user', content: text }],
    ...rest,
  });
  const routes = (model: string): [string, Json][] => [
    ['/v1/messages', ask(model, 'x')],
    ['/v1/chat/completions', ask(model, 'x')],
    ['/v1/responses', { model, input: 'x' }],
  ];

  const errorOf = async (answer: Response): Promise<Json> => ((await answer.json()) as { error: Json }).error;
  const sent = async (): Promise<Sent> => (await supplier.requests()).at(-1) as unknown as Sent;
  const recordOf = async (answer: Response): Promise<Json | undefined> => {
    const rows = await app.database.query<Json>('SELECT * FROM request_record WHERE request_id = $1', [
      answer.headers.get('x-request-id'),
    ]);
    return rows[0];
  };
  /** Name and data of each event of a stream that uses plain line feeds and one line of data an event. */
  const eventsOf = async (answer: Response): Promise<{ name: string | undefined; data: string }[]> =>
    (await answer.text())
      .split('\n\n')
      .filter((block) => /^data: /m.test(block))
      .map((block) => ({
        name: /^event: (.*)$/m.exec(block)?.[1],
        data: /^data: (.*)$/m.exec(block)?.[1] ?? '',
      }));

  describe('of requests (7, 8, 9, 25)', () => {
    test.each([
      ['anthropic-version', '2026-10-21'],
      ['vendor-version', '2026-10-21'],
    ])('`%s` %s and the betas reach the supplier', async (name, version) => {
      const betas = 'files-api-2025-04-14,effort-2026-01-01';
      const headers = { 'anthropic-beta': betas, [name]: version };
      expect((await post('/v1/messages?beta=true', ask('on-messages', 'x'), headers)).status).toBe(200);
      expect((await sent()).headers).toMatchObject({ 'anthropic-beta': betas, 'anthropic-version': version });
    });

    test('without a version the supplier is told one', async () => {
      expect((await post('/v1/messages', ask('on-messages', 'x'))).status).toBe(200);
      expect((await sent()).headers).toMatchObject({ 'anthropic-version': '2023-06-01' });
    });

    test('a supplier of messages gets what an agent says as it was said', async () => {
      const body = asAgent('on-messages', false);
      expect((await post('/v1/messages', body)).status).toBe(200);
      expect((await sent()).body).toEqual({ ...body, model: 'sim-large' });
    });

    test('a supplier of chat gets none of what only messages knows, and system text where it may stand', async () => {
      const answer = await post('/v1/messages', asAgent('on-chat', false));
      expect(answer.status).toBe(200);
      const { body } = await sent();
      expect(JSON.stringify(body)).not.toMatch(
        /cache_control|defer_loading|context_management|adaptive|device_id|output_config/,
      );
      const turns = body.messages as { role: string; content: unknown }[];
      expect(
        turns.map(({ role }) => role).filter((role) => role !== 'system' && role !== 'developer'),
      ).toEqual(['user', 'assistant', 'tool', 'user']);
      expect(turns[turns.findIndex(({ role }) => role === 'assistant') + 1]?.role).toBe('tool');
      expect(JSON.stringify(turns)).toContain('The user is in a hurry.');
      expect(body.tools).toHaveLength(2);
    });

    test.each(models)(
      'a first turn of half a megabyte is served, and too much is said so: %s',
      async (model) => {
        const large = await post('/v1/messages', ask(model, `${'x'.repeat(1024)}\n`.repeat(512)));
        expect(large.status).toBe(200);
        const tooLarge = await post('/v1/messages', ask(model, 'x'.repeat(3 * 1024 ** 2)));
        expect(tooLarge.status).toBe(413);
        expect(await tooLarge.json()).toMatchObject({
          type: 'error',
          error: { type: 'request_too_large', code: 'request_too_large' },
        });
      },
    );

    test('a thread, which nobody here keeps, is refused in the words that make the client go on without', async () => {
      const answer = await post('/v1/messages', ask('on-chat', 'x', { thread: { type: 'create' } }));
      expect(answer.status).toBe(400);
      expect(await errorOf(answer)).toMatchObject({
        details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
      });
    });
  });

  describe('of streams (10, 11, 12, 13, 14)', () => {
    test.each(models)(
      'messages of %s: each event by its name, one block after the other, real totals',
      async (model) => {
        const body = ask(model, twoTools, { tools: messagesTools, stream: true });
        const answer = await post('/v1/messages', body);
        const events = await eventsOf(answer);
        const parsed = events.map(({ data }) => JSON.parse(data) as Json & { type: string; index?: number });
        expect(events.map(({ name }) => name)).toEqual(parsed.map(({ type }) => type));
        expect([parsed[0]?.type, parsed.at(-1)?.type]).toEqual(['message_start', 'message_stop']);

        const blocks = parsed.filter(({ type }) => type.startsWith('content_block_'));
        let open: number | null = null;
        let begun = 0;
        for (const { type, index } of blocks) {
          if (type === 'content_block_start') {
            expect([open, index]).toEqual([null, begun]);
            open = begun++;
          } else expect(index).toBe(open);
          if (type === 'content_block_stop') open = null;
        }
        expect([open, begun]).toEqual([null, 2]);

        const [begin, end] = ['message_start', 'message_delta'].map((name) =>
          parsed.find(({ type }) => type === name),
        );
        const begunWith = (begin?.message as { usage: { input_tokens: number } }).usage.input_tokens;
        expect(Number.isInteger(begunWith) && begunWith > 0).toBe(true);
        const { input_tokens, output_tokens } = (await recordOf(answer)) as Record<string, number>;
        expect(end).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens } });
        expect([begunWith, (end?.usage as Json).input_tokens]).toContain(input_tokens);
      },
    );

    test.each(
      models.flatMap((model): [string, boolean][] => [
        [model, false],
        [model, true],
      ]),
    )('chat of %s, usage asked for: %s', async (model, wanted) => {
      const usage = wanted ? { stream_options: { include_usage: true } } : {};
      const body = ask(model, twoTools, { tools: chatTools, stream: true, ...usage });
      const answer = await post('/v1/chat/completions', body);
      const events = (await eventsOf(answer)).map(({ data }) => data);
      expect(events.filter((data) => data === '[DONE]')).toHaveLength(1);
      expect(events.pop()).toBe('[DONE]');

      interface Chunk {
        id: string;
        usage?: object | null;
        choices: {
          finish_reason: string | null;
          delta: { role?: string; tool_calls?: { index: number; function: { arguments?: string } }[] };
        }[];
      }
      const chunks = events.map((data) => JSON.parse(data) as Chunk);
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      const deltas = chunks.flatMap(({ choices }) => choices);
      expect(deltas.map(({ delta }) => delta.role).filter(Boolean)).toEqual(['assistant']);
      expect(deltas[0]?.delta.role).toBe('assistant');
      expect(deltas.map((choice) => choice.finish_reason).filter(Boolean)).toEqual(['tool_calls']);
      const written: string[] = [];
      for (const { index, function: piece } of deltas.flatMap(({ delta }) => delta.tool_calls ?? [])) {
        written[index] = (written[index] ?? '') + (piece.arguments ?? '');
      }
      expect(written.map((text) => JSON.parse(text) as Json)).toEqual([
        { city: 'Graz, in the south' },
        { city: 'Ulm, by the river' },
      ]);
      const accounts = chunks.filter((chunk) => chunk.usage);
      expect(accounts).toEqual(wanted ? [chunks.at(-1)] : []);
      if (wanted) expect(accounts[0]?.choices).toEqual([]);
    });

    test('chat of on-messages: a tool whose arguments are no text at all gets an empty object', async () => {
      const body = ask('on-messages', 'When? [[tool=clock]][[no-args]]', { tools: chatTools, stream: true });
      const text = await (await post('/v1/chat/completions', body)).text();
      const pieces = [...text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece);
      expect(pieces.join('')).toBe('{}');
    });

    test.each(models)(
      'what broke off as a stream is answered when it is asked again as a whole: %s',
      async (model) => {
        const fault = await supplier.addFault({ fault: { kind: 'cut', after: 12 }, times: 1 });
        const broken = await eventsOf(await post('/v1/messages', asAgent(model, true)));
        expect(broken.at(-1)?.name).toBe('error');
        expect(JSON.parse(broken.at(-1)?.data ?? '')).toMatchObject({
          error: { code: 'stream_interrupted' },
        });
        expect(fault).toBeGreaterThan(0);
        const whole = await post('/v1/messages', asAgent(model, false));
        expect(await whole.json()).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
        expect(await recordOf(whole)).toMatchObject({ code: null, stream: false, output_tokens: 40 });
      },
    );
  });

  describe('of refusals (4, 5, 16, 17, 18, 19, 20)', () => {
    const kinds: Record<number, string> = {
      400: 'invalid_request_error',
      401: 'authentication_error',
      404: 'not_found_error',
    };

    test.each<[string, number, string, (route: string, body: Json) => Promise<Response>]>([
      ['a wrong key', 401, 'invalid_api_key', (path, body) => post(path, body, {}, 'svc_wrong')],
      ['an unknown model', 404, 'model_not_found', (path, body) => post(path, { ...body, model: 'nobody' })],
      ['no model', 400, 'missing_model', (path, { model: _model, ...body }) => post(path, body)],
    ])('%s: in the words of each dialect, and not to be repeated', async (_what, status, code, send) => {
      for (const [path, body] of routes('on-chat')) {
        const answer = await send(path, body);
        expect([path, answer.status]).toEqual([path, status]);
        expect(answer.headers.get('x-should-retry')).toBe('false');
        expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
        const told = (await answer.json()) as { type?: string; error: Json };
        expect(told.type).toBe(path === '/v1/messages' ? 'error' : undefined);
        expect(told.error).toMatchObject({
          code,
          type: kinds[status],
          message: `${code} - ${String(told.error.human_message)}`,
        });
      }
    });

    test.each(models)(
      'a supplier that has had enough: 429 with the time it named, or with one: %s',
      async (model) => {
        for (const headers of [{ 'retry-after': '2' }, undefined]) {
          await supplier.addFault({ fault: { kind: 'status', status: 429, headers }, times: 1 });
          const answer = await post('/v1/messages', ask(model, 'x'));
          expect(answer.status).toBe(429);
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
          expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(2);
          expect(await errorOf(answer)).toMatchObject({ code: 'supplier_limit', type: 'rate_limit_error' });
          await settled(model);
        }
      },
    );

    test.each(
      models.flatMap((model): [string, number][] => [
        [model, 401],
        [model, 403],
      ]),
    )('what %s has against our own key (%i) is never the caller’s', async (model, status) => {
      for (const route of routes(model)) {
        await supplier.addFault({ fault: { kind: 'status', status: status }, times: 1 });
        const answer = await post(...route);
        expect([502, 503]).toContain(answer.status);
        expect((await errorOf(answer)).type).toMatch(/^(api_error|overloaded_error)$/);
        await settled(model);
      }
    });

    test.each(models)('a conversation that is too long for %s', async (model) => {
      const text = 'word '.repeat(170_000);
      for (const [path, { input: _input, messages: _messages, ...rest }] of routes(model)) {
        const asked =
          path === '/v1/responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
        const answer = await post(path, { ...rest, ...asked });
        expect([path, answer.status]).toEqual([path, 400]);
        const error = await errorOf(answer);
        expect(error).toMatchObject({ code: 'context_length_exceeded' });
        if (model === 'on-messages') {
          // An agent reads both numbers out of this text.
          expect(error.message).toMatch(/prompt is too long: \d+ tokens > 200000 maximum/);
        }
      }
    });

    /** A pause that one test brought about does not concern the next. */
    const settled = async (model: string): Promise<void> => {
      await supplier.clearFaults();
      for (const signal = AbortSignal.timeout(15_000); ; signal.throwIfAborted()) {
        if ((await post('/v1/messages', ask(model, 'x [[tokens=1]]'))).ok) return;
      }
    };
  });

  describe('of sessions (24)', () => {
    const named = '01a1-conversation';
    test.each<[string, string, Record<string, string>, object]>([
      ['the header of the specification', '/v1/chat/completions', { 'x-session-id': named }, {}],
      ['Claude Code', '/v1/messages', { 'x-claude-code-session-id': named }, {}],
      ['Codex', '/v1/responses', { 'session-id': named }, {}],
      ['a thread of Codex', '/v1/responses', { 'thread-id': named }, {}],
      ['an agent, behind its user', '/v1/messages', {}, { metadata: { user_id: `user_1_session_${named}` } }],
      [
        'an agent, within its user',
        '/v1/messages',
        {},
        { metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: named }) } },
      ],
      ['the key of a prompt cache', '/v1/responses', {}, { prompt_cache_key: named }],
      ['the metadata', '/v1/chat/completions', {}, { metadata: { session_id: named } }],
    ])('%s names its conversation', async (_who, path, headers, rest) => {
      const [, body] = routes('on-chat').find(([each]) => each === path) ?? [];
      const answer = await post(path, { ...body, ...rest }, headers);
      expect(answer.status).toBe(200);
      expect(await recordOf(answer)).toMatchObject({ session_key: named });
    });
  });
});
