import { eventsIn } from '../../../support/sse-spellings';
import {
  bareUsage,
  breaking,
  chunk,
  data,
  ending,
  item,
  type Json,
  messageEnd,
  messageStart,
  named,
  response,
  responseBegun,
  type Script,
  stop,
  StreamHouse,
  textAfter,
  textBlock,
  valueOf,
} from './stream-house';

describe('a stream fails in its dialect, and names its model', () => {
  const house = new StreamHouse();
  beforeAll(() => house.open());
  afterAll(() => house.close());

  /** Callers of every dialect, on lanes that pass and lanes that translate. */
  const pairs = ['chat', 'messages', 'responses'].flatMap((dialect) =>
    [...new Set(['chat', 'messages', dialect])].map((provider) => [dialect, provider] as const),
  );

  describe('failures inside a stream (B7)', () => {
    const failing = {
      chat: [
        data(chunk({ content: 'Bern.' })),
        data({ error: { type: 'server_error', message: 'out of room' } }),
      ],
      messages: [
        named(messageStart, ...textBlock('Bern.')),
        named({ type: 'error', error: { type: 'api_error', message: 'out of room' } }),
      ],
      responses: [
        named(...responseBegun),
        named({ type: 'error', sequence_number: 4, code: 'server_error', message: 'out of room' }),
      ],
    };

    test.each(pairs)('%s from %s: one rule, in the caller’s dialect', async (dialect, provider) => {
      const [begun, failed] = failing[provider as keyof typeof failing];
      let fail: () => void = () => undefined;
      const { model, answer } = await house.ask(
        provider,
        (sent) => {
          sent.write(begun);
          fail = () => sent.end(failed);
        },
        { dialect },
      );
      const text = await textAfter(answer, () => fail());
      const events = eventsIn(text);
      const record = await house.recordOf(answer);
      const last = events.at(-1)!;
      const told = valueOf(last);
      const error = told.error as Json;
      expect(error).toMatchObject({
        code: 'stream_error',
        retryable: false,
        param: null,
      });
      expect(text).not.toContain('out of room');
      expect(record).toMatchObject({ code: 'stream_error' });
      expect(Number(record?.output_tokens)).toBeGreaterThan(0);
      expect(last.event).toBe({ messages: 'error', responses: 'response.failed' }[dialect]);
      if (dialect !== 'responses') return;
      const first = valueOf(events[0]!);
      expect(told).toMatchObject({
        type: 'response.failed',
        sequence_number: Number(valueOf(events.at(-2)!).sequence_number) + 1,
        response: {
          id: (first.response as Json).id,
          status: 'failed',
          model,
          error: { code: 'stream_error' },
        },
      });
    });

    test('a failed response repeats what was finished of it', async () => {
      const { events } = await house.whole('responses', breaking(named(...responseBegun)));
      const { response: failed, ...told } = valueOf(events.at(-1)!);
      expect(told).toMatchObject({ type: 'response.failed', error: { code: 'stream_interrupted' } });
      expect(failed).toMatchObject({ id: 'resp_theirs', created_at: 7, output: [{ id: 'msg_1' }] });
    });

    test.each(['chat', 'messages', 'responses'])(
      'before any output it has a status, and costs nothing: %s',
      async (provider) => {
        const error = { type: 'error', error: { type: 'rate_limit_error', message: 'slowly' } };
        const { answer, record } = await house.whole(provider, ending(named(error)));
        expect(answer.status).toBe(429);
        expect(record).toMatchObject({ code: 'supplier_limit', cost_nano: '0' });
      },
    );
  });

  describe('a refusal before any output is the caller’s, as one with a status is', () => {
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

    test.each(cases)('%s: %s', async (provider, code, status, error) => {
      const failing = ending(named({ type: 'error', error }));
      const { answer, text, record } = await house.whole(provider, failing, { spare: true });
      expect(answer.status).toBe(status);
      const told = (JSON.parse(text) as { error: Json }).error;
      expect(told).toMatchObject({ code: error.code ?? code, retryable: false });
      expect(record).toMatchObject({ code, supplier: provider, failover: false, cost_nano: '0' });
    });
  });

  test('a response whose last event repeats none of its items gets them there', async () => {
    const completed = {
      type: 'response.completed',
      sequence_number: 4,
      response: {
        ...response,
        status: 'completed',
        output: [],
        usage: { input_tokens: 11, output_tokens: 2 },
      },
    };
    const { events } = await house.whole('responses', ending(named(...responseBegun, completed)));
    const last = valueOf(events.at(-1)!);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', output: [item] },
    });
    expect((last.response as Json).output).toEqual([item]);
    const { id } = last.response as Json;
    expect(await house.get(`/v1/responses/${String(id)}`)).toMatchObject({ output: [item] });
  });

  describe('the name of the model (B8)', () => {
    const streams = {
      chat: data(chunk({ content: 'Bern.' }), stop, bareUsage(2), '[DONE]'),
      messages: named(messageStart, ...textBlock('Bern.'), ...messageEnd),
      responses: named(...responseBegun, {
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
    test.each(pairs)('%s from %s: ours in every event, theirs in svc', async (dialect, provider) => {
      const text = streams[provider as keyof typeof streams];
      const { model, text: told, record } = await house.whole(provider, ending(text), { dialect });
      const theirs = model.replace('ours', 'their');
      const names = [...told.matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name);
      expect(new Set(names)).toEqual(new Set([model]));
      expect(told).toContain(`"upstream_model":"${theirs}"`);
      expect(record).toMatchObject({ model, served_model: theirs, code: null });
    });
  });

  describe('a stream without an answer', () => {
    const empty: [string, string, string][] = [
      ['chat', 'nothing', ''],
      ['chat', 'comments', ': hello\n\n'],
      ['chat', '[DONE] alone', data('[DONE]')],
      ['chat', 'no choices', data(chunk({}, { choices: [] }), '[DONE]')],
      ['chat', 'a role', data(chunk({ role: 'assistant', content: '' }))],
      ['messages', 'nothing', ''],
      ['messages', 'a beginning', named(messageStart)],
      ['messages', 'a beginning and an end', named(messageStart, { type: 'message_stop' })],
      ['responses', 'a beginning', named(responseBegun[0]!)],
    ];

    test.each(empty)('%s: %s is a failure of the lane', async (provider, _what, text) => {
      const { text: told, record } = await house.whole(provider, ending(text), { spare: true });
      expect(told).toContain('backup');
      expect(record).toMatchObject({ supplier: 'spare', failover: true, code: null });
    });

    test.each(empty)(
      '%s: %s, without another lane, is 502, retryable and free',
      async (provider, _what, text) => {
        const { answer, text: told, record } = await house.whole(provider, ending(text));
        expect(answer.status).toBe(502);
        expect(answer.headers.get('x-should-retry')).toBeNull();
        const { error } = JSON.parse(told) as { error: Json };
        expect(error.code).toMatch(/^(empty_stream|upstream_invalid_response)$/);
        expect(error).toMatchObject({ retryable: true, param: null });
        expect(record).toMatchObject({ cost_nano: '0', usage_source: 'none' });
      },
    );

    test.each(['chat', 'messages'])(
      '%s: half of one is interrupted, whatever says that it is over',
      async (dialect) => {
        let end: () => void = () => undefined;
        const half: Script = (sent) => {
          sent.write(data(chunk({ content: 'Half an' })));
          end = () => sent.end(data('[DONE]'));
        };
        const { answer } = await house.ask('chat', half, { dialect });
        const told = await textAfter(answer, () => end());
        expect(told).not.toMatch(/\[DONE\]|message_stop/);
        expect(told).toContain('stream_interrupted');
        expect(await house.recordOf(answer)).toMatchObject({ code: 'stream_interrupted' });
      },
    );

    test('an answer of messages may have no content', async () => {
      const { text, record } = await house.whole('messages', ending(named(messageStart, ...messageEnd)));
      expect(text).toContain('message_stop');
      expect(record).toMatchObject({ code: null, output_tokens: 5 });
    });
  });
});
