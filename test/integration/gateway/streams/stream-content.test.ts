import {
  bareUsage,
  sendAndBreak,
  chunk,
  data,
  sendAndEnd,
  type Json,
  messageEnd,
  messageStart,
  namedEvents,
  pythonJson,
  response,
  responseStartEvents,
  type StreamScript,
  stop,
  StreamFixture,
  textAfter,
  textBlock,
  usageOf,
} from './stream-fixture';

describe('Interpretation of stream content', () => {
  const fixture = new StreamFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());

  describe('JSON with spaces (B1)', () => {
    test('event with extra spaces is released when complete and billed by its usage', async () => {
      let sendRest: () => void = () => undefined;
      const { answer } = await fixture.sendRequest('chat', (sent) => {
        sent.write(`data: ${pythonJson(chunk({ content: 'Bern' }))}  \n\n`);
        sendRest = () =>
          sent.end(
            [chunk({ content: '.' }), stop, bareUsage(2)]
              .map((value) => `data: ${pythonJson(value)} \r\n\r\n`)
              .join('') + 'data: [DONE] \n\n',
          );
      });
      expect(await textAfter(answer, () => sendRest())).toContain('Bern');
      expect(await fixture.recordOf(answer)).toMatchObject({
        input_tokens: 11,
        output_tokens: 2,
        usage_source: 'supplier',
        code: null,
      });
    });

    test.each(['chat', 'messages', 'responses'])(
      '%s error event with extra spaces fails over',
      async (provider) => {
        const error = { type: 'error', error: { type: 'overloaded_error', message: 'too much' } };
        const { text, record } = await fixture.sendAndRead(
          provider,
          sendAndEnd(`data: ${pythonJson(error)}\n\n`),
          {
            dialect: provider === 'responses' ? 'responses' : provider,
            spare: true,
          },
        );
        expect(text).toContain('backup');
        expect(record).toMatchObject({ supplier: 'spare', failover: true, code: null });
      },
    );
  });

  describe('Keywords inside content (B2)', () => {
    test('tool named message_stop does not end the stream', async () => {
      const tool = { type: 'tool_use', id: 'toolu_1', name: 'message_stop', input: {} };
      const { text, record } = await fixture.sendAndRead(
        'messages',
        sendAndBreak(
          namedEvents(messageStart, { type: 'content_block_start', index: 0, content_block: tool }),
        ),
      );
      expect(text).toContain('stream_interrupted');
      expect(record).toMatchObject({ code: 'stream_interrupted' });
    });

    test('metadata that contains response.completed does not end the stream', async () => {
      const [created, ...others] = responseStartEvents;
      const markedEvent = { ...created!, response: { ...response, metadata: { a: 'response.completed' } } };
      const { record } = await fixture.sendAndRead(
        'responses',
        sendAndBreak(namedEvents(markedEvent, ...others)),
      );
      expect(record).toMatchObject({ code: 'stream_interrupted' });
    });
  });

  describe('Data after the end (B3)', () => {
    const sendEndlessly = (text: string, closed: () => void): StreamScript => {
      const flood = data(chunk({ content: 'flood '.repeat(1_000) }));
      return (sent) => {
        sent.on('close', closed);
        sent.write(text);
        const pour = (): void => {
          while (!sent.destroyed && sent.write(flood));
        };
        sent.on('drain', pour);
        pour();
      };
    };

    test.each([
      ['chat', data(chunk({ content: 'Bern.' }), stop, bareUsage(2), '[DONE]'), 2],
      ['messages', namedEvents(messageStart, ...textBlock('Bern.'), ...messageEnd), 5],
    ] as const)(
      '%s data after the end is neither passed on nor charged, and the connection is closed',
      async (provider, text, output) => {
        let resolveClosed: () => void = () => undefined;
        const closed = new Promise<void>((resolve) => (resolveClosed = resolve));
        const answer = await fixture.sendAndRead(provider, sendEndlessly(text, resolveClosed));
        await closed;
        expect(answer.text).not.toContain('flood');
        expect(answer.text.length).toBeLessThan(2_000);
        expect(answer.record).toMatchObject({ output_tokens: output, usage_source: 'supplier', code: null });
      },
    );

    test('supplier that never closes does not delay the response', async () => {
      const text = data(chunk({ content: 'Bern.' }), stop, bareUsage(2), '[DONE]');
      const { record } = await fixture.sendAndRead('chat', (sent) => void sent.write(text));
      expect(record).toMatchObject({ output_tokens: 2, code: null });
    });
  });

  describe('Usage reports in a stream', () => {
    test.each([
      [
        'in every chunk',
        [
          chunk({ content: 'a' }, { usage: usageOf(1) }),
          chunk({ content: 'b' }, { usage: usageOf(2) }),
          { ...stop, usage: usageOf(3) },
        ],
      ],
      ['in the last choice chunk', [chunk({ content: 'a' }), { ...stop, usage: usageOf(3) }]],
      ['after the reason to stop', [chunk({ content: 'a' }), stop, bareUsage(3)]],
      ['twice', [chunk({ content: 'a' }), { ...stop, usage: usageOf(2) }, bareUsage(3)]],
    ])('latest usage counts: %s', async (_where, events) => {
      const { record, text } = await fixture.sendAndRead('chat', sendAndEnd(data(...events, '[DONE]')));
      expect(record).toMatchObject({ input_tokens: 11, output_tokens: 3, usage_source: 'supplier' });
      expect(text.match(/"svc":/g)).toHaveLength(1);
    });

    test('usage sent before the output does not cover it', async () => {
      const { record } = await fixture.sendAndRead(
        'chat',
        sendAndEnd(data(bareUsage(0), chunk({ content: 'a'.repeat(400) }), stop, '[DONE]')),
      );
      expect(record).toMatchObject({ input_tokens: 11, output_tokens: 100, usage_source: 'partial' });
    });
  });

  describe('Supplier that breaks off before its usage (B5)', () => {
    test.each<[string, Json]>([
      ['text', { content: 'a'.repeat(400) }],
      ['a refusal', { refusal: 'a'.repeat(400) }],
      ['reasoning', { reasoning_content: 'a'.repeat(400) }],
      ['reasoning of another spelling', { reasoning: 'a'.repeat(400) }],
      [
        'a call',
        {
          tool_calls: [
            { index: 0, id: 'c', function: { name: 'a'.repeat(200), arguments: 'a'.repeat(200) } },
          ],
        },
      ],
      ['a transcript', { audio: { id: 'a', transcript: 'a'.repeat(400) } }],
    ])('%s is charged by estimate', async (_what, delta) => {
      const { record } = await fixture.sendAndRead('chat', sendAndBreak(data(chunk(delta))));
      expect(record).toMatchObject({
        code: 'stream_interrupted',
        usage_source: 'estimated',
        output_tokens: 100,
      });
      expect(Number(record?.input_tokens)).toBeGreaterThan(0);
    });
  });
});
