import { parseEvents } from '../../../support/sse-spellings';
import {
  bareUsage,
  sendAndBreak,
  chunk,
  data,
  sendAndEnd,
  item,
  type Json,
  messageEnd,
  messageStart,
  namedEvents,
  response,
  responseStartEvents,
  type StreamScript,
  stop,
  StreamFixture,
  textAfter,
  textBlock,
  valueOf,
} from './stream-fixture';

describe('Stream failures and model names', () => {
  const fixture = new StreamFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());

  /** Callers of every dialect, on lanes that pass through and lanes that convert. */
  const pairs = ['chat', 'messages', 'responses'].flatMap((dialect) =>
    [...new Set(['chat', 'messages', dialect])].map((provider) => [dialect, provider] as const),
  );

  describe('Failures inside a stream (B7)', () => {
    const failingStreams = {
      chat: [
        data(chunk({ content: 'Bern.' })),
        data({ error: { type: 'server_error', message: 'out of room' } }),
      ],
      messages: [
        namedEvents(messageStart, ...textBlock('Bern.')),
        namedEvents({ type: 'error', error: { type: 'api_error', message: 'out of room' } }),
      ],
      responses: [
        namedEvents(...responseStartEvents),
        namedEvents({ type: 'error', sequence_number: 4, code: 'server_error', message: 'out of room' }),
      ],
    };

    test.each(pairs)(
      '%s caller of a %s lane gets stream_error in its own dialect',
      async (dialect, provider) => {
        const [firstEvents, failureEvent] = failingStreams[provider as keyof typeof failingStreams];
        let fail: () => void = () => undefined;
        const { model, answer } = await fixture.sendRequest(
          provider,
          (sent) => {
            sent.write(firstEvents);
            fail = () => sent.end(failureEvent);
          },
          { dialect },
        );
        const text = await textAfter(answer, () => fail());
        const events = parseEvents(text);
        const record = await fixture.recordOf(answer);
        const lastEvent = events.at(-1)!;
        const errorEvent = valueOf(lastEvent);
        const error = errorEvent.error as Json;
        expect(error).toMatchObject({
          code: 'stream_error',
          retryable: false,
          param: null,
        });
        expect(text).not.toContain('out of room');
        expect(record).toMatchObject({ code: 'stream_error' });
        expect(Number(record?.output_tokens)).toBeGreaterThan(0);
        expect(lastEvent.event).toBe({ messages: 'error', responses: 'response.failed' }[dialect]);
        if (dialect !== 'responses') return;
        const firstEvent = valueOf(events[0]!);
        expect(errorEvent).toMatchObject({
          type: 'response.failed',
          sequence_number: Number(valueOf(events.at(-2)!).sequence_number) + 1,
          response: {
            id: (firstEvent.response as Json).id,
            status: 'failed',
            model,
            error: { code: 'stream_error' },
          },
        });
      },
    );

    test('failed response repeats its finished output items', async () => {
      const { events } = await fixture.sendAndRead(
        'responses',
        sendAndBreak(namedEvents(...responseStartEvents)),
      );
      const { response: failedResponse, ...failureEvent } = valueOf(events.at(-1)!);
      expect(failureEvent).toMatchObject({ type: 'response.failed', error: { code: 'stream_interrupted' } });
      expect(failedResponse).toMatchObject({ id: 'resp_theirs', created_at: 7, output: [{ id: 'msg_1' }] });
    });

    test.each(['chat', 'messages', 'responses'])(
      'failure before any output returns an HTTP status and costs nothing: %s',
      async (provider) => {
        const error = { type: 'error', error: { type: 'rate_limit_error', message: 'slowly' } };
        const { answer, record } = await fixture.sendAndRead(provider, sendAndEnd(namedEvents(error)));
        expect(answer.status).toBe(429);
        expect(record).toMatchObject({ code: 'supplier_limit', cost_nano: '0' });
      },
    );
  });

  describe('Validation error before any output', () => {
    const refusals: [string, number, Json][] = [
      [
        'invalid_request',
        400,
        { type: 'invalid_request_error', message: 'bad temperature', param: 'temperature' },
      ],
      ['context_length_exceeded', 400, { type: 'invalid_request_error', message: 'prompt is too long' }],
      ['request_rejected', 400, { type: 'invalid_request_error', code: 'content_filter', message: 'no' }],
    ];
    const lanes = ['chat', 'messages', 'responses'];
    const cases = lanes.flatMap((provider) => refusals.map((refusal) => [provider, ...refusal] as const));

    test.each(cases)('%s error event returns an HTTP error: %s', async (provider, code, status, error) => {
      const failingStream = sendAndEnd(namedEvents({ type: 'error', error }));
      const { answer, text, record } = await fixture.sendAndRead(provider, failingStream, { spare: true });
      expect(answer.status).toBe(status);
      const errorBody = (JSON.parse(text) as { error: Json }).error;
      expect(errorBody).toMatchObject({ code: error.code ?? code, retryable: false });
      expect(record).toMatchObject({ code, supplier: provider, failover: false, cost_nano: '0' });
    });
  });

  test('output items missing from response.completed are added', async () => {
    const completedEvent = {
      type: 'response.completed',
      sequence_number: 4,
      response: {
        ...response,
        status: 'completed',
        output: [],
        usage: { input_tokens: 11, output_tokens: 2 },
      },
    };
    const { events } = await fixture.sendAndRead(
      'responses',
      sendAndEnd(namedEvents(...responseStartEvents, completedEvent)),
    );
    const lastEvent = valueOf(events.at(-1)!);
    expect(lastEvent).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', output: [item] },
    });
    expect((lastEvent.response as Json).output).toEqual([item]);
    const { id } = lastEvent.response as Json;
    expect(await fixture.get(`/v1/responses/${String(id)}`)).toMatchObject({ output: [item] });
  });

  describe('Model name (B8)', () => {
    const streams = {
      chat: data(chunk({ content: 'Bern.' }), stop, bareUsage(2), '[DONE]'),
      messages: namedEvents(messageStart, ...textBlock('Bern.'), ...messageEnd),
      responses: namedEvents(...responseStartEvents, {
        type: 'response.completed',
        sequence_number: 4,
        response: {
          ...response,
          status: 'completed',
          output: [item],
          usage: { input_tokens: 11, output_tokens: 2, total_tokens: 13 },
        },
      }),
    };
    test.each(pairs)(
      '%s caller of a %s lane sees the requested model in events and the upstream model in svc',
      async (dialect, provider) => {
        const text = streams[provider as keyof typeof streams];
        const {
          model,
          text: outputText,
          record,
        } = await fixture.sendAndRead(provider, sendAndEnd(text), { dialect });
        const upstreamModel = model.replace('ours', 'their');
        const names = [...outputText.matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name);
        expect(new Set(names)).toEqual(new Set([model]));
        expect(outputText).toContain(`"upstream_model":"${upstreamModel}"`);
        expect(record).toMatchObject({ model, served_model: upstreamModel, code: null });
      },
    );
  });

  describe('Stream without content', () => {
    const emptyStreams: [string, string, string][] = [
      ['chat', 'nothing', ''],
      ['chat', 'comments', ': hello\n\n'],
      ['chat', '[DONE] alone', data('[DONE]')],
      ['chat', 'no choices', data(chunk({}, { choices: [] }), '[DONE]')],
      ['chat', 'a role', data(chunk({ role: 'assistant', content: '' }))],
      ['messages', 'nothing', ''],
      ['messages', 'a beginning', namedEvents(messageStart)],
      ['messages', 'a beginning and an end', namedEvents(messageStart, { type: 'message_stop' })],
      ['responses', 'a beginning', namedEvents(responseStartEvents[0]!)],
    ];

    test.each(emptyStreams)('%s stream with %s fails over', async (provider, _what, text) => {
      const { text: outputText, record } = await fixture.sendAndRead(provider, sendAndEnd(text), {
        spare: true,
      });
      expect(outputText).toContain('backup');
      expect(record).toMatchObject({ supplier: 'spare', failover: true, code: null });
    });

    test.each(emptyStreams)(
      '%s stream with %s returns a free, retryable 502 without another lane',
      async (provider, _what, text) => {
        const { answer, text: outputText, record } = await fixture.sendAndRead(provider, sendAndEnd(text));
        expect(answer.status).toBe(502);
        expect(answer.headers.get('x-should-retry')).toBeNull();
        const { error } = JSON.parse(outputText) as { error: Json };
        expect(error.code).toMatch(/^(empty_stream|upstream_invalid_response)$/);
        expect(error).toMatchObject({ retryable: true, param: null });
        expect(record).toMatchObject({ cost_nano: '0', usage_source: 'none' });
      },
    );

    test.each(['chat', 'messages'])(
      '%s stream without finish reason is interrupted, even after [DONE]',
      async (dialect) => {
        let end: () => void = () => undefined;
        const halfStream: StreamScript = (sent) => {
          sent.write(data(chunk({ content: 'Half an' })));
          end = () => sent.end(data('[DONE]'));
        };
        const { answer } = await fixture.sendRequest('chat', halfStream, { dialect });
        const outputText = await textAfter(answer, () => end());
        expect(outputText).not.toMatch(/\[DONE\]|message_stop/);
        expect(outputText).toContain('stream_interrupted');
        expect(await fixture.recordOf(answer)).toMatchObject({ code: 'stream_interrupted' });
      },
    );

    test('messages response can have no content', async () => {
      const { text, record } = await fixture.sendAndRead(
        'messages',
        sendAndEnd(namedEvents(messageStart, ...messageEnd)),
      );
      expect(text).toContain('message_stop');
      expect(record).toMatchObject({ code: null, output_tokens: 5 });
    });
  });
});
