import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { agentTurn, chatTools, messagesTools, twoTools } from './agent-requests';
import { TestCatalogue } from './test-catalogue';

/** Requirements of clients on requests, streams and errors that `npm run prove:clients` cannot observe. */

type Json = Record<string, unknown>;
interface CapturedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

const models = ['on-chat', 'on-messages'] as const;

describe('Client requirements', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', BODY_LIMIT: '2MiB' } });
    const catalogue = new TestCatalogue(app);
    const provider = { baseUrl: supplier.url };
    const credential = { label: 'key', secret: 'sim-key' };
    await catalogue.provider({
      ...provider,
      name: 'chatty',
      style: 'openai-style',
      credentials: [{ ...credential, kind: 'bearer' }],
    });
    await catalogue.provider({
      ...provider,
      name: 'wordy',
      style: 'messages-style',
      credentials: [{ ...credential, kind: 'header' }],
    });
    await catalogue.model('on-chat', [{ provider: 'chatty' }]);
    await catalogue.model('on-messages', [{ provider: 'wordy' }]);
  });
  beforeEach(() => supplier.clearRequests());
  afterEach(() => supplier.clearFaults());
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const demo = (): string => app.firstKeys?.demo ?? '';
  /** Messages clients send their key as `x-api-key`. */
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
  const chatBody = (model: string, text: string, rest: object = {}): Json => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user', content: text }],
    ...rest,
  });
  const routes = (model: string): [string, Json][] => [
    ['/v1/messages', chatBody(model, 'x')],
    ['/v1/chat/completions', chatBody(model, 'x')],
    ['/v1/responses', { model, input: 'x' }],
  ];

  const errorOf = async (answer: Response): Promise<Json> => ((await answer.json()) as { error: Json }).error;
  const lastSupplierRequest = async (): Promise<CapturedRequest> =>
    (await supplier.requests()).at(-1) as unknown as CapturedRequest;
  const recordOf = async (answer: Response): Promise<Json | undefined> => {
    const rows = await app.database.query<Json>('SELECT * FROM request_record WHERE request_id = $1', [
      answer.headers.get('x-request-id'),
    ]);
    return rows[0];
  };
  /** Name and data of each event. Assumes plain line feeds and one data line per event. */
  const eventsOf = async (answer: Response): Promise<{ name: string | undefined; data: string }[]> =>
    (await answer.text())
      .split('\n\n')
      .filter((block) => /^data: /m.test(block))
      .map((block) => ({
        name: /^event: (.*)$/m.exec(block)?.[1],
        data: /^data: (.*)$/m.exec(block)?.[1] ?? '',
      }));

  describe('Requests (7, 8, 9, 25)', () => {
    test.each([
      ['anthropic-version', '2026-10-21'],
      ['vendor-version', '2026-10-21'],
    ])('`%s` %s and the betas reach the supplier', async (name, version) => {
      const betas = 'files-api-2025-04-14,effort-2026-01-01';
      const headers = { 'anthropic-beta': betas, [name]: version };
      expect((await post('/v1/messages?beta=true', chatBody('on-messages', 'x'), headers)).status).toBe(200);
      expect((await lastSupplierRequest()).headers).toMatchObject({
        'anthropic-beta': betas,
        'anthropic-version': version,
      });
    });

    test('request without a version is sent with the default anthropic-version', async () => {
      expect((await post('/v1/messages', chatBody('on-messages', 'x'))).status).toBe(200);
      expect((await lastSupplierRequest()).headers).toMatchObject({ 'anthropic-version': '2023-06-01' });
    });

    test("Messages supplier receives an agent's request unchanged", async () => {
      const body = agentTurn('on-messages', false);
      expect((await post('/v1/messages', body)).status).toBe(200);
      expect((await lastSupplierRequest()).body).toEqual({ ...body, model: 'sim-large' });
    });

    test('chat supplier receives no Messages-only fields, and system text only where chat allows it', async () => {
      const answer = await post('/v1/messages', agentTurn('on-chat', false));
      expect(answer.status).toBe(200);
      const { body } = await lastSupplierRequest();
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

    test.each(models)('512 KiB first turn is served, and 3 MiB returns 413: %s', async (model) => {
      const largeResponse = await post('/v1/messages', chatBody(model, `${'x'.repeat(1024)}\n`.repeat(512)));
      expect(largeResponse.status).toBe(200);
      const tooLargeResponse = await post('/v1/messages', chatBody(model, 'x'.repeat(3 * 1024 ** 2)));
      expect(tooLargeResponse.status).toBe(413);
      expect(await tooLargeResponse.json()).toMatchObject({
        type: 'error',
        error: { type: 'request_too_large', code: 'request_too_large' },
      });
    });

    test('unsupported thread returns the error that makes the client continue without it', async () => {
      const answer = await post('/v1/messages', chatBody('on-chat', 'x', { thread: { type: 'create' } }));
      expect(answer.status).toBe(400);
      expect(await errorOf(answer)).toMatchObject({
        details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
      });
    });
  });

  describe('Streams (10, 11, 12, 13, 14)', () => {
    test.each(models)(
      'Messages stream of %s has named events, sequential blocks and real totals',
      async (model) => {
        const body = chatBody(model, twoTools, { tools: messagesTools, stream: true });
        const answer = await post('/v1/messages', body);
        const events = await eventsOf(answer);
        const parsed = events.map(({ data }) => JSON.parse(data) as Json & { type: string; index?: number });
        expect(events.map(({ name }) => name)).toEqual(parsed.map(({ type }) => type));
        expect([parsed[0]?.type, parsed.at(-1)?.type]).toEqual(['message_start', 'message_stop']);

        const blocks = parsed.filter(({ type }) => type.startsWith('content_block_'));
        let open: number | null = null;
        let startedBlocks = 0;
        for (const { type, index } of blocks) {
          if (type === 'content_block_start') {
            expect([open, index]).toEqual([null, startedBlocks]);
            open = startedBlocks++;
          } else expect(index).toBe(open);
          if (type === 'content_block_stop') open = null;
        }
        expect([open, startedBlocks]).toEqual([null, 2]);

        const [begin, end] = ['message_start', 'message_delta'].map((name) =>
          parsed.find(({ type }) => type === name),
        );
        const startInputTokens = (begin?.message as { usage: { input_tokens: number } }).usage.input_tokens;
        expect(Number.isInteger(startInputTokens) && startInputTokens > 0).toBe(true);
        const { input_tokens, output_tokens } = (await recordOf(answer)) as Record<string, number>;
        expect(end).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens } });
        expect([startInputTokens, (end?.usage as Json).input_tokens]).toContain(input_tokens);
      },
    );

    test.each(
      models.flatMap((model): [string, boolean][] => [
        [model, false],
        [model, true],
      ]),
    )('chat stream of %s carries usage only if requested: %s', async (model, wanted) => {
      const usage = wanted ? { stream_options: { include_usage: true } } : {};
      const body = chatBody(model, twoTools, { tools: chatTools, stream: true, ...usage });
      const answer = await post('/v1/chat/completions', body);
      const events = (await eventsOf(answer)).map(({ data }) => data);
      expect(events.filter((data) => data === '[DONE]')).toHaveLength(1);
      expect(events.pop()).toBe('[DONE]');

      interface UsageChunk {
        id: string;
        usage?: object | null;
        choices: {
          finish_reason: string | null;
          delta: { role?: string; tool_calls?: { index: number; function: { arguments?: string } }[] };
        }[];
      }
      const chunks = events.map((data) => JSON.parse(data) as UsageChunk);
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      const deltas = chunks.flatMap(({ choices }) => choices);
      expect(deltas.map(({ delta }) => delta.role).filter(Boolean)).toEqual(['assistant']);
      expect(deltas[0]?.delta.role).toBe('assistant');
      expect(deltas.map((choice) => choice.finish_reason).filter(Boolean)).toEqual(['tool_calls']);
      const toolArguments: string[] = [];
      for (const { index, function: piece } of deltas.flatMap(({ delta }) => delta.tool_calls ?? [])) {
        toolArguments[index] = (toolArguments[index] ?? '') + (piece.arguments ?? '');
      }
      expect(toolArguments.map((text) => JSON.parse(text) as Json)).toEqual([
        { city: 'Graz, in the south' },
        { city: 'Ulm, by the river' },
      ]);
      const usageChunks = chunks.filter((chunk) => chunk.usage);
      expect(usageChunks).toEqual(wanted ? [chunks.at(-1)] : []);
      if (wanted) expect(usageChunks[0]?.choices).toEqual([]);
    });

    test('chat stream of on-messages sends {} for a tool call without arguments', async () => {
      const body = chatBody('on-messages', 'When? [[tool=clock]][[no-args]]', {
        tools: chatTools,
        stream: true,
      });
      const text = await (await post('/v1/chat/completions', body)).text();
      const fragments = [...text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece);
      expect(fragments.join('')).toBe('{}');
    });

    test.each(models)(
      'request whose stream broke off succeeds when retried without streaming: %s',
      async (model) => {
        const fault = await supplier.addFault({ fault: { kind: 'cut', after: 12 }, times: 1 });
        const brokenEvents = await eventsOf(await post('/v1/messages', agentTurn(model, true)));
        expect(brokenEvents.at(-1)?.name).toBe('error');
        expect(JSON.parse(brokenEvents.at(-1)?.data ?? '')).toMatchObject({
          error: { code: 'stream_interrupted' },
        });
        expect(fault).toBeGreaterThan(0);
        const completeResponse = await post('/v1/messages', agentTurn(model, false));
        expect(await completeResponse.json()).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
        expect(await recordOf(completeResponse)).toMatchObject({
          code: null,
          stream: false,
          output_tokens: 40,
        });
      },
    );
  });

  describe('Errors (4, 5, 16, 17, 18, 19, 20)', () => {
    const errorTypes: Record<number, string> = {
      400: 'invalid_request_error',
      401: 'authentication_error',
      404: 'not_found_error',
    };

    test.each<[string, number, string, (route: string, body: Json) => Promise<Response>]>([
      ['a wrong key', 401, 'invalid_api_key', (path, body) => post(path, body, {}, 'svc_wrong')],
      ['an unknown model', 404, 'model_not_found', (path, body) => post(path, { ...body, model: 'nobody' })],
      ['no model', 400, 'missing_model', (path, { model: _model, ...body }) => post(path, body)],
    ])('%s returns a non-retryable error in each dialect', async (_what, status, code, send) => {
      for (const [path, body] of routes('on-chat')) {
        const answer = await send(path, body);
        expect([path, answer.status]).toEqual([path, status]);
        expect(answer.headers.get('x-should-retry')).toBe('false');
        expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
        const errorBody = (await answer.json()) as { type?: string; error: Json };
        expect(errorBody.type).toBe(path === '/v1/messages' ? 'error' : undefined);
        expect(errorBody.error).toMatchObject({
          code,
          type: errorTypes[status],
          message: `${code} - ${String(errorBody.error.human_message)}`,
        });
      }
    });

    test.each(models)(
      "supplier rate limit returns 429 with the supplier's retry-after or a default: %s",
      async (model) => {
        for (const headers of [{ 'retry-after': '2' }, undefined]) {
          await supplier.addFault({ fault: { kind: 'status', status: 429, headers }, times: 1 });
          const answer = await post('/v1/messages', chatBody(model, 'x'));
          expect(answer.status).toBe(429);
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
          expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(2);
          expect(await errorOf(answer)).toMatchObject({ code: 'supplier_limit', type: 'rate_limit_error' });
          await waitUntilServed(model);
        }
      },
    );

    test.each(
      models.flatMap((model): [string, number][] => [
        [model, 401],
        [model, 403],
      ]),
    )("credential failure on %s (%i) never becomes the caller's 401 or 403", async (model, status) => {
      for (const route of routes(model)) {
        await supplier.addFault({ fault: { kind: 'status', status: status }, times: 1 });
        const answer = await post(...route);
        expect([502, 503]).toContain(answer.status);
        expect((await errorOf(answer)).type).toMatch(/^(api_error|overloaded_error)$/);
        await waitUntilServed(model);
      }
    });

    test.each(models)('conversation too long for %s returns 400 context_length_exceeded', async (model) => {
      const text = 'word '.repeat(170_000);
      for (const [path, { input: _input, messages: _messages, ...rest }] of routes(model)) {
        const conversation =
          path === '/v1/responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
        const answer = await post(path, { ...rest, ...conversation });
        expect([path, answer.status]).toEqual([path, 400]);
        const error = await errorOf(answer);
        expect(error).toMatchObject({ code: 'context_length_exceeded' });
        if (model === 'on-messages') {
          // Agents parse both numbers from this text.
          expect(error.message).toMatch(/prompt is too long: \d+ tokens > 200000 maximum/);
        }
      }
    });

    /** Waits until a pause caused by one test has ended. */
    const waitUntilServed = async (model: string): Promise<void> => {
      await supplier.clearFaults();
      for (const signal = AbortSignal.timeout(15_000); ; signal.throwIfAborted()) {
        if ((await post('/v1/messages', chatBody(model, 'x [[tokens=1]]'))).ok) return;
      }
    };
  });

  describe('Sessions (24)', () => {
    const sessionId = '01a1-conversation';
    test.each<[string, string, Record<string, string>, object]>([
      ['the header of the specification', '/v1/chat/completions', { 'x-session-id': sessionId }, {}],
      ['Claude Code', '/v1/messages', { 'x-claude-code-session-id': sessionId }, {}],
      ['Codex', '/v1/responses', { 'session-id': sessionId }, {}],
      ['a thread of Codex', '/v1/responses', { 'thread-id': sessionId }, {}],
      [
        'an agent, behind its user',
        '/v1/messages',
        {},
        { metadata: { user_id: `user_1_session_${sessionId}` } },
      ],
      [
        'an agent, within its user',
        '/v1/messages',
        {},
        { metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: sessionId }) } },
      ],
      ['the key of a prompt cache', '/v1/responses', {}, { prompt_cache_key: sessionId }],
      ['the metadata', '/v1/chat/completions', {}, { metadata: { session_id: sessionId } }],
    ])('session key is taken from %s', async (_who, path, headers, rest) => {
      const [, body] = routes('on-chat').find(([each]) => each === path) ?? [];
      const answer = await post(path, { ...body, ...rest }, headers);
      expect(answer.status).toBe(200);
      expect(await recordOf(answer)).toMatchObject({ session_key: sessionId });
    });
  });
});
