import { parseEvents } from '../../../support/sse-spellings';
import {
  chargedTokens,
  chunk,
  data,
  sendAndEnd,
  type Json,
  messageEnd,
  messageStart,
  namedEvents,
  requestIdOf,
  stop,
  StreamFixture,
  textBlock,
  usageOf,
  valueOf,
  valuesOf,
} from './stream-fixture';

/**
 * Suppliers that speak the caller's dialect omit fields; the gateway adds them, and usage reports the billed tokens.
 */
describe('Required stream fields', () => {
  const fixture = new StreamFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());

  describe('Chat streams', () => {
    test('chunks get their missing fields, and usage follows at the end', async () => {
      const { answer, model, events, record } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(
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
      const { svc, ...lastChunk } = valueOf(events.at(-2)!);
      const { input, output } = chargedTokens(record, svc);
      expect([input, output].every((tokens) => tokens > 0)).toBe(true);
      expect(valuesOf(events).slice(0, -1)).toEqual([
        {
          ...head,
          choices: [{ index: 0, delta: { role: 'assistant', content: 'A whole ' }, finish_reason: null }],
        },
        { ...head, choices: [{ index: 0, delta: { content: 'sentence.' }, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      ]);
      expect(lastChunk).toMatchObject({
        ...head,
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      });
      expect(events.at(-1)).toMatchObject({ data: '[DONE]' });
      expect(record).toMatchObject({ usage_source: 'estimated', code: null });
    });

    test('usage is not sent unless requested, though it is charged', async () => {
      const incompleteStream = data({ choices: [{ delta: { content: 'Bern.' } }] }, stop);
      const { text, record } = await fixture.sendAndRead('chat', sendAndEnd(incompleteStream), {
        body: { stream_options: null },
      });
      expect(text).not.toContain('usage');
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
      expect(Number(record?.output_tokens)).toBeGreaterThan(0);
    });

    test('usage is added before [DONE] when the supplier closes without it', async () => {
      const { events, record } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(data(chunk({ content: 'Bern.' }), stop)),
      );
      const { usage, svc } = valueOf(events.at(-2)!);
      const { input, output } = chargedTokens(record, svc);
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
    ])('chat usage reports what is charged: %s', async (_what, usage, told) => {
      for (const events of [
        [chunk({ content: 'x' }), stop, chunk({}, { choices: [], usage })],
        [chunk({ content: 'x' }), { ...stop, usage }],
        [chunk({ content: 'x' }), stop, chunk({}, { choices: [], x_groq: { usage } })],
      ]) {
        const { events: outputEvents, record } = await fixture.sendAndRead(
          'chat',
          sendAndEnd(data(...events, '[DONE]')),
        );
        const lastEvent = valueOf(outputEvents.at(-2)!);
        chargedTokens(record, lastEvent.svc);
        const { odd: _odd, ...plain } = told;
        expect(lastEvent.usage).toMatchObject(events[2]?.x_groq === undefined ? told : plain);
      }
    });

    test('usage sent before the text is followed by the charged usage', async () => {
      const earlyUsage = chunk({}, { choices: [], usage: usageOf(0) });
      const { events, record } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(data(earlyUsage, chunk({ content: 'a'.repeat(400) }), stop, '[DONE]')),
      );
      const { usage, svc } = valueOf(events.at(-2)!);
      expect(chargedTokens(record, svc)).toEqual({ input: 11, output: 100 });
      expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 100 });
    });

    test('implausible usage is replaced by what is charged', async () => {
      const usage = { prompt_tokens: 50_000_000, completion_tokens: 2, total_tokens: 50_000_002 };
      const { events, record } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(data(chunk({ content: 'x' }), { ...stop, usage }, '[DONE]')),
      );
      const { usage: reportedUsage, svc } = valueOf(events.at(-2)!);
      const { input, output } = chargedTokens(record, svc);
      expect(input).toBeLessThan(1_000_000);
      expect(reportedUsage).toMatchObject({ prompt_tokens: input, completion_tokens: output });
    });

    test('tool call fragments get their index', async () => {
      const call = (id: string | undefined, text: string, name?: string): Json => ({
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), arguments: text },
      });
      const calls = (...list: Json[]): Json => chunk({ role: 'assistant', tool_calls: list });
      const { events } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(
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

    test('complete stream is passed through to the byte', async () => {
      const usage = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13, odd: { a: 1.0 } };
      const { model, text } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(
          data(
            chunk({ role: 'assistant', content: 'Bern.' }),
            stop,
            chunk({}, { choices: [], usage }),
            '[DONE]',
          ),
        ),
      );
      const expectedText = data(
        chunk({ role: 'assistant', content: 'Bern.' }, { model }),
        { ...stop, model },
        chunk({}, { choices: [], usage, model }),
        '[DONE]',
      );
      expect(text.replace(/,"svc":\{[^}]*\}/, '')).toBe(
        expectedText.replaceAll('"model":"their-model-0613"', `"model":"${model}"`),
      );
    });
  });

  test('legacy completions stream gets its missing fields and usage', async () => {
    const { answer, model, events, record } = await fixture.sendAndRead(
      'chat',
      sendAndEnd(data({ choices: [{ text: 'Bern.' }] }, { choices: [{ finish_reason: 'stop' }] }, '[DONE]')),
      { dialect: 'completions' },
    );
    const { svc, usage } = valueOf(events.at(-2)!);
    const { input, output } = chargedTokens(record, svc);
    expect(usage).toMatchObject({ prompt_tokens: input, completion_tokens: output });
    const head = { id: `cmpl-${requestIdOf(answer)}`, object: 'text_completion', model };
    expect(valuesOf(events)).toMatchObject([
      { ...head, choices: [{ index: 0, text: 'Bern.', finish_reason: null }] },
      { ...head, choices: [{ index: 0, text: '', finish_reason: 'stop' }] },
      { ...head, choices: [] },
    ]);
  });

  describe('Messages streams', () => {
    const unnamedEvents = (...values: Json[]): string => data(...values);

    test('message_start, event names and usage are added', async () => {
      const { answer, model, events, record } = await fixture.sendAndRead(
        'messages',
        sendAndEnd(
          unnamedEvents(
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
      const [startEvent, ...others] = valuesOf(events);
      const { svc, ...delta } = others.at(-2)!;
      const { input, output } = chargedTokens(record, svc);
      expect(startEvent).toEqual({
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
      expect(Number(((startEvent?.message as Json).usage as Json).input_tokens)).toBeGreaterThan(0);
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

    test('missing message_start is added', async () => {
      const { events } = await fixture.sendAndRead(
        'messages',
        sendAndEnd(namedEvents(...textBlock('Bern.'), ...messageEnd)),
      );
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
    ])('messages usage reports what is charged: %s', async (_what, begun, ended) => {
      const { events, record } = await fixture.sendAndRead(
        'messages',
        sendAndEnd(
          namedEvents(
            { ...messageStart, message: { ...messageStart.message, usage: begun } },
            ...textBlock('Bern.'),
            { ...messageEnd[0]!, type: 'message_delta', usage: ended },
            { type: 'message_stop' },
          ),
        ),
      );
      const values = valuesOf(events);
      const startUsage = (values[0]?.message as Json).usage as Json;
      expect(startUsage.input_tokens).toBeGreaterThan(0);
      const lastEvent = values.at(-2)!;
      const { input, output } = chargedTokens(record, lastEvent.svc);
      // Merged as the SDKs merge usage reports.
      expect({ ...startUsage, ...(lastEvent.usage as Json) }).toMatchObject({
        input_tokens: input,
        output_tokens: output,
      });
    });
  });

  describe('Usage of converted streams', () => {
    const usage = { prompt_tokens: 50_000_000, completion_tokens: 2, total_tokens: 50_000_002 };
    const hugeUsageStream = data(
      chunk({ role: 'assistant', content: 'x' }),
      stop,
      chunk({}, { choices: [], usage }),
      '[DONE]',
    );

    test.each(['messages', 'responses'])('%s stream reports what is charged', async (dialect) => {
      const { text, record } = await fixture.sendAndRead('chat', sendAndEnd(hugeUsageStream), { dialect });
      const [last] = valuesOf(parseEvents(text))
        .map((event) => (event.response ?? event) as Json)
        .filter(({ svc }) => svc !== undefined);
      const { input, output } = chargedTokens(record, last?.svc);
      expect(input).toBeLessThan(1_000_000);
      expect(last?.usage).toMatchObject({ input_tokens: input, output_tokens: output });
    });
  });
});
