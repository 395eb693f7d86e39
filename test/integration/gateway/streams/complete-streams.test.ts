import { eventsIn, type WrittenEvent } from '../../../support/sse-spellings';
import {
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
  stop,
  StreamHouse,
  textBlock,
  usageOf,
  valueOf,
} from './stream-house';

const valuesOf = (events: readonly WrittenEvent[]): Json[] =>
  events.filter(({ data: text }) => text !== '[DONE]').map(valueOf);
const requestIdOf = ({ headers }: Response): string => headers.get('x-request-id') ?? '';

/** A supplier of the caller's own dialect left these out of its events; usage says the tokens of the bill. */
describe('streams have all that is specified', () => {
  const house = new StreamHouse();
  beforeAll(() => house.open());
  afterAll(() => house.close());

  /** The tokens on record, which `svc` names too. */
  const charged = (record: Json | undefined, svc: unknown): { input: number; output: number } => {
    const sum = (...names: string[]): number =>
      names.reduce((total, name) => total + Number(record?.[name]), 0);
    const input = sum('input_tokens', 'cache_read_tokens', 'cache_write_tokens');
    const output = sum('output_tokens', 'reasoning_tokens');
    expect(svc).toMatchObject({ input_tokens: input, output_tokens: output });
    return { input, output };
  };

  describe('chat', () => {
    test('every chunk, its choices and the usage at the end', async () => {
      const { answer, model, events, record } = await house.whole(
        'chat',
        ending(
          data(
            { choices: [{ delta: { content: 'A whole ' } }] },
            { choices: [{ delta: { content: 'sentence.' } }] },
            { choices: [{ finish_reason: 'stop' }] },
            '[DONE]',
          ),
        ),
      );
      const head = {
        id: `chatcmpl-${requestIdOf(answer)}`,
        object: 'chat.completion.chunk',
        created: expect.any(Number) as number,
        model,
      };
      const { svc, ...last } = valueOf(events.at(-2)!);
      const { input, output } = charged(record, svc);
      expect([input, output].every((tokens) => tokens > 0)).toBe(true);
      expect(valuesOf(events).slice(0, -1)).toEqual([
        {
          ...head,
          choices: [{ index: 0, delta: { role: 'assistant', content: 'A whole ' }, finish_reason: null }],
        },
        { ...head, choices: [{ index: 0, delta: { content: 'sentence.' }, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      ]);
      expect(last).toMatchObject({
        ...head,
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      });
      expect(events.at(-1)).toMatchObject({ data: '[DONE]' });
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
    });

    test('usage that nobody asked for is not told, though it is charged', async () => {
      const bare = data({ choices: [{ delta: { content: 'Bern.' } }] }, stop);
      const { text, record } = await house.whole('chat', ending(bare), { body: { stream_options: null } });
      expect(text).not.toContain('usage');
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
      expect(Number(record?.output_tokens)).toBeGreaterThan(0);
    });

    test('a supplier that just closes has its usage told before the end', async () => {
      const { events, record } = await house.whole('chat', ending(data(chunk({ content: 'Bern.' }), stop)));
      const { usage, svc } = valueOf(events.at(-2)!);
      const { input, output } = charged(record, svc);
      expect(usage).toMatchObject({ prompt_tokens: input, completion_tokens: output });
      expect(events.at(-1)).toMatchObject({ data: '[DONE]' });
    });

    test.each<[string, Json, Json]>([
      [
        'reasoning beside the output',
        {
          prompt_tokens: 7,
          completion_tokens: 5,
          total_tokens: 20,
          completion_tokens_details: { reasoning_tokens: 8 },
        },
        { prompt_tokens: 7, completion_tokens: 13, total_tokens: 20 },
      ],
      [
        'no total',
        { ...usageOf(2), odd: 1 },
        { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13, odd: 1 },
      ],
    ])('usage says what is charged: %s', async (_what, usage, told) => {
      for (const events of [
        [chunk({ content: 'x' }), stop, chunk({}, { choices: [], usage })],
        [chunk({ content: 'x' }), { ...stop, usage }],
        [chunk({ content: 'x' }), stop, chunk({}, { choices: [], x_groq: { usage } })],
      ]) {
        const { events: heard, record } = await house.whole('chat', ending(data(...events, '[DONE]')));
        const last = valueOf(heard.at(-2)!);
        charged(record, last.svc);
        const { odd: _odd, ...plain } = told;
        expect(last.usage).toMatchObject(events[2]?.x_groq === undefined ? told : plain);
      }
    });

    test('usage from before the answer is followed by what is charged', async () => {
      const early = chunk({}, { choices: [], usage: usageOf(0) });
      const { events, record } = await house.whole(
        'chat',
        ending(data(early, chunk({ content: 'a'.repeat(400) }), stop, '[DONE]')),
      );
      const { usage, svc } = valueOf(events.at(-2)!);
      expect(charged(record, svc)).toEqual({ input: 11, output: 100 });
      expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 100 });
    });

    test('an implausible report is told as it is charged', async () => {
      const usage = { prompt_tokens: 50_000_000, completion_tokens: 2, total_tokens: 50_000_002 };
      const { events, record } = await house.whole(
        'chat',
        ending(data(chunk({ content: 'x' }), { ...stop, usage }, '[DONE]')),
      );
      const { usage: told, svc } = valueOf(events.at(-2)!);
      const { input, output } = charged(record, svc);
      expect(input).toBeLessThan(1_000_000);
      expect(told).toMatchObject({ prompt_tokens: input, completion_tokens: output });
    });

    test('pieces of calls are numbered', async () => {
      const call = (id: string | undefined, text: string, name?: string): Json => ({
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), arguments: text },
      });
      const calls = (...list: Json[]): Json => chunk({ role: 'assistant', tool_calls: list });
      const { events } = await house.whole(
        'chat',
        ending(
          data(
            calls(call('a', '{', 'f')),
            calls(call(undefined, '}')),
            calls(call('b', '{}', 'g'), call('c', '{}', 'h')),
            chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
            '[DONE]',
          ),
        ),
      );
      const numbers = valuesOf(events).flatMap(({ choices }) =>
        (choices as { delta: { tool_calls?: { index: number }[] } }[]).flatMap(({ delta }) =>
          (delta.tool_calls ?? []).map(({ index }) => index),
        ),
      );
      expect(numbers).toEqual([0, 0, 1, 2]);
    });

    test('a stream that is complete passes as it came, to the byte', async () => {
      const usage = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13, odd: { a: 1.0 } };
      const { model, text } = await house.whole(
        'chat',
        ending(
          data(
            chunk({ role: 'assistant', content: 'Bern.' }),
            stop,
            chunk({}, { choices: [], usage }),
            '[DONE]',
          ),
        ),
      );
      const ours = data(
        chunk({ role: 'assistant', content: 'Bern.' }, { model }),
        { ...stop, model },
        chunk({}, { choices: [], usage, model }),
        '[DONE]',
      );
      expect(text.replace(/,"svc":\{[^}]*\}/, '')).toBe(
        ours.replaceAll('"model":"their-model-0613"', `"model":"${model}"`),
      );
    });
  });

  test('completions', async () => {
    const { answer, model, events, record } = await house.whole(
      'chat',
      ending(data({ choices: [{ text: 'Bern.' }] }, { choices: [{ finish_reason: 'stop' }] }, '[DONE]')),
      { dialect: 'completions' },
    );
    const { svc, usage } = valueOf(events.at(-2)!);
    const { input, output } = charged(record, svc);
    expect(usage).toMatchObject({ prompt_tokens: input, completion_tokens: output });
    const head = { id: `cmpl-${requestIdOf(answer)}`, object: 'text_completion', model };
    expect(valuesOf(events)).toMatchObject([
      { ...head, choices: [{ index: 0, text: 'Bern.', finish_reason: null }] },
      { ...head, choices: [{ index: 0, text: '', finish_reason: 'stop' }] },
      { ...head, choices: [] },
    ]);
  });

  describe('messages', () => {
    const anonymous = (...values: Json[]): string => data(...values);

    test('the beginning, the names of events and the usage at the end', async () => {
      const { answer, model, events, record } = await house.whole(
        'messages',
        ending(
          anonymous(
            { type: 'message_start', message: {} },
            { type: 'content_block_start', content_block: { type: 'text' } },
            { type: 'content_block_delta', delta: { type: 'text_delta', text: 'A whole sentence.' } },
            { type: 'content_block_stop' },
            { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
            { type: 'message_stop' },
          ),
        ),
      );
      expect(events.map(({ event }) => event)).toEqual(valuesOf(events).map(({ type }) => type));
      const [start, ...others] = valuesOf(events);
      const { svc, ...delta } = others.at(-2)!;
      const { input, output } = charged(record, svc);
      expect(start).toEqual({
        type: 'message_start',
        message: {
          id: `msg_${requestIdOf(answer)}`,
          type: 'message',
          role: 'assistant',
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: expect.any(Number) as number, output_tokens: 0 },
        },
      });
      expect(Number(((start?.message as Json).usage as Json).input_tokens)).toBeGreaterThan(0);
      expect(others.slice(0, 3)).toMatchObject([
        { index: 0, content_block: { type: 'text', text: '' } },
        { index: 0, delta: { text: 'A whole sentence.' } },
        { index: 0 },
      ]);
      expect(delta).toMatchObject({
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: input, output_tokens: output },
      });
    });

    test('a beginning that is missing', async () => {
      const { events } = await house.whole('messages', ending(named(...textBlock('Bern.'), ...messageEnd)));
      expect(events.map(({ event }) => event).slice(0, 2)).toEqual(['message_start', 'content_block_start']);
      expect(valueOf(events[0]!)).toMatchObject({ message: { role: 'assistant', content: [] } });
    });

    test.each([
      ['never zero at the beginning', { input_tokens: 0, output_tokens: 0 }, { output_tokens: 5 }],
      ['said at the end alone', { input_tokens: 0 }, { input_tokens: 11, output_tokens: 5 }],
      ['taken back by a zero', { input_tokens: 11 }, { input_tokens: 0, output_tokens: 5 }],
      ['unreadable', { input_tokens: 11 }, { output_tokens: 'many' }],
      [
        'by iterations that say more',
        { input_tokens: 11, output_tokens: 1 },
        {
          output_tokens: 5,
          iterations: [
            { type: 'message', input_tokens: 11, output_tokens: 5 },
            { type: 'message', input_tokens: 20, output_tokens: 9 },
          ],
        },
      ],
    ])('usage says what is charged: %s', async (_what, begun, ended) => {
      const { events, record } = await house.whole(
        'messages',
        ending(
          named(
            { ...messageStart, message: { ...messageStart.message, usage: begun } },
            ...textBlock('Bern.'),
            { ...messageEnd[0]!, type: 'message_delta', usage: ended },
            { type: 'message_stop' },
          ),
        ),
      );
      const values = valuesOf(events);
      const first = (values[0]?.message as Json).usage as Json;
      expect(first.input_tokens).toBeGreaterThan(0);
      const last = values.at(-2)!;
      const { input, output } = charged(record, last.svc);
      // As the SDKs add the reports up.
      expect({ ...first, ...(last.usage as Json) }).toMatchObject({
        input_tokens: input,
        output_tokens: output,
      });
    });
  });

  describe('responses', () => {
    test('numbers, the response and its usage', async () => {
      const { answer, model, events, record } = await house.whole(
        'responses',
        ending(
          data(
            { type: 'response.created', response: {} },
            { type: 'response.output_item.added', item: { ...item, content: [] } },
            { type: 'response.output_text.delta', delta: 'Bern.' },
            { type: 'response.output_item.done', item },
            { type: 'response.completed', response: { output: [item] } },
          ),
        ),
      );
      const values = valuesOf(events);
      expect(events.map(({ event }) => event)).toEqual(values.map(({ type }) => type));
      expect(values.map(({ sequence_number: number }) => number)).toEqual([0, 1, 2, 3, 4]);
      const { svc, response: last } = values.at(-1)!;
      const { input, output } = charged(record, svc);
      const envelope = { id: `resp_${requestIdOf(answer)}`, object: 'response', model };
      expect(values[0]?.response).toMatchObject({ ...envelope, status: 'in_progress', output: [] });
      expect(values[2]).toMatchObject({ output_index: 0, content_index: 0, item_id: 'msg_1' });
      expect(last).toMatchObject({
        ...envelope,
        status: 'completed',
        output: [item],
        usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      });
      expect((values[0]?.response as Json).created_at).toBe((last as Json).created_at);
      expect(await house.get(`/v1/responses/resp_${requestIdOf(answer)}`)).toMatchObject({ output: [item] });
    });

    test('a beginning that is missing', async () => {
      const [, ...others] = responseBegun;
      const completed = {
        type: 'response.completed',
        sequence_number: 4,
        response: { ...response, status: 'completed', output: [item] },
      };
      const { events } = await house.whole('responses', ending(named(...others, completed)));
      expect(valueOf(events[0]!)).toMatchObject({
        type: 'response.created',
        sequence_number: 0,
        response: { object: 'response', status: 'in_progress', output: [] },
      });
    });

    test('usage says what is charged', async () => {
      const usage = { input_tokens: 11, output_tokens: 2, total_tokens: 26, odd: 1 };
      const completed = {
        type: 'response.completed',
        sequence_number: 4,
        response: { ...response, status: 'completed', output: [item], usage },
      };
      const { events, record } = await house.whole('responses', ending(named(...responseBegun, completed)));
      const { svc, response: last } = valueOf(events.at(-1)!);
      const { input, output } = charged(record, svc);
      expect((last as Json).usage).toMatchObject({
        input_tokens: input,
        output_tokens: output,
        total_tokens: input + output,
        odd: 1,
      });
    });
  });

  describe('a translated stream says what is charged', () => {
    const usage = { prompt_tokens: 50_000_000, completion_tokens: 2, total_tokens: 50_000_002 };
    const huge = data(
      chunk({ role: 'assistant', content: 'x' }),
      stop,
      chunk({}, { choices: [], usage }),
      '[DONE]',
    );

    test.each(['messages', 'responses'])('%s', async (dialect) => {
      const { text, record } = await house.whole('chat', ending(huge), { dialect });
      const [last] = valuesOf(eventsIn(text))
        .map((event) => (event.response ?? event) as Json)
        .filter(({ svc }) => svc !== undefined);
      const { input, output } = charged(record, last?.svc);
      expect(input).toBeLessThan(1_000_000);
      expect(last?.usage).toMatchObject({ input_tokens: input, output_tokens: output });
    });
  });
});
