import {
  bareUsage,
  breaking,
  chunk,
  data,
  ending,
  type Json,
  messageEnd,
  messageStart,
  named,
  python,
  response,
  responseBegun,
  type Script,
  stop,
  StreamHouse,
  textAfter,
  textBlock,
  usageOf,
} from './stream-house';

describe('what is inside a stream decides nothing but by what it says', () => {
  const house = new StreamHouse();
  beforeAll(() => house.open());
  afterAll(() => house.close());

  describe('JSON with spaces (B1)', () => {
    test('is released when its event is complete, and billed by its usage', async () => {
      let more: () => void = () => undefined;
      const { answer } = await house.ask('chat', (sent) => {
        sent.write(`data: ${python(chunk({ content: 'Bern' }))}  \n\n`);
        more = () =>
          sent.end(
            [chunk({ content: '.' }), stop, bareUsage(2)]
              .map((value) => `data: ${python(value)} \r\n\r\n`)
              .join('') + 'data: [DONE] \n\n',
          );
      });
      expect(await textAfter(answer, () => more())).toContain('Bern');
      expect(await house.recordOf(answer)).toMatchObject({
        input_tokens: 11,
        output_tokens: 2,
        usage_source: 'supplier',
        code: null,
      });
    });

    test.each(['chat', 'messages', 'responses'])(
      '%s: an error in it is one, and the next lane’s turn',
      async (provider) => {
        const error = { type: 'error', error: { type: 'overloaded_error', message: 'too much' } };
        const { text, record } = await house.whole(provider, ending(`data: ${python(error)}\n\n`), {
          dialect: provider === 'responses' ? 'responses' : provider,
          spare: true,
        });
        expect(text).toContain('backup');
        expect(record).toMatchObject({ supplier: 'spare', failover: true, code: null });
      },
    );
  });

  describe('words inside an answer (B2)', () => {
    test('a tool called message_stop ends nothing', async () => {
      const tool = { type: 'tool_use', id: 'toolu_1', name: 'message_stop', input: {} };
      const { text, record } = await house.whole(
        'messages',
        breaking(named(messageStart, { type: 'content_block_start', index: 0, content_block: tool })),
      );
      expect(text).toContain('stream_interrupted');
      expect(record).toMatchObject({ code: 'stream_interrupted' });
    });

    test('nor does metadata that says response.completed', async () => {
      const [created, ...others] = responseBegun;
      const marked = { ...created!, response: { ...response, metadata: { a: 'response.completed' } } };
      const { record } = await house.whole('responses', breaking(named(marked, ...others)));
      expect(record).toMatchObject({ code: 'stream_interrupted' });
    });
  });

  describe('after the end (B3)', () => {
    const endless = (text: string, closed: () => void): Script => {
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
      ['messages', named(messageStart, ...textBlock('Bern.'), ...messageEnd), 5],
    ] as const)(
      '%s: nothing is passed on or charged, and the supplier is left',
      async (provider, text, output) => {
        let leave: () => void = () => undefined;
        const left = new Promise<void>((resolve) => (leave = resolve));
        const answer = await house.whole(provider, endless(text, leave));
        await left;
        expect(answer.text).not.toContain('flood');
        expect(answer.text.length).toBeLessThan(2_000);
        expect(answer.record).toMatchObject({ output_tokens: output, usage_source: 'supplier', code: null });
      },
    );

    test('a supplier that never closes keeps nobody waiting', async () => {
      const text = data(chunk({ content: 'Bern.' }), stop, bareUsage(2), '[DONE]');
      const { record } = await house.whole('chat', (sent) => void sent.write(text));
      expect(record).toMatchObject({ output_tokens: 2, code: null });
    });
  });

  describe('usage', () => {
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
    ])('%s is the latest', async (_where, events) => {
      const { record, text } = await house.whole('chat', ending(data(...events, '[DONE]')));
      expect(record).toMatchObject({ input_tokens: 11, output_tokens: 3, usage_source: 'supplier' });
      expect(text.match(/"svc":/g)).toHaveLength(1);
    });

    test('before the output covers none of it', async () => {
      const { record } = await house.whole(
        'chat',
        ending(data(bareUsage(0), chunk({ content: 'a'.repeat(400) }), stop, '[DONE]')),
      );
      expect(record).toMatchObject({ input_tokens: 11, output_tokens: 100, usage_source: 'partial' });
    });
  });

  describe('a supplier that breaks off before its usage (B5)', () => {
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
    ])('%s is charged', async (_what, delta) => {
      const { record } = await house.whole('chat', breaking(data(chunk(delta))));
      expect(record).toMatchObject({
        code: 'stream_interrupted',
        usage_source: 'estimated',
        output_tokens: 100,
      });
      expect(Number(record?.input_tokens)).toBeGreaterThan(0);
    });
  });
});
