import {
  sendRequest,
  charactersOf,
  chatStream,
  choicesIn,
  closeFixture,
  joinDeltas,
  LEAK,
  logprobs,
  MASKED,
  openFixture,
  piecesOf,
  recordOf,
  sendStreamRequest,
  supplier,
  TEXT,
  usage,
  verdictsOf,
} from './mask-fixture';
import { chunk, data, type Json, stop } from '../streams/stream-fixture';

beforeAll(openFixture);
afterAll(closeFixture);

describe('Masked chat responses', () => {
  const chunksOf = (of: string, name = 'content') =>
    charactersOf(of).map((piece) => chunk({ [name]: piece }));

  test('text, reasoning and refusal of a stream are masked across chunks at an unchanged cost', async () => {
    const body = chatStream(
      ...chunksOf(TEXT, 'reasoning_content'),
      ...chunksOf(TEXT),
      ...chunksOf(TEXT, 'refusal'),
      stop,
    );
    const answer = await sendStreamRequest('chat', 'on-chat', body);
    expect(answer.raw).not.toMatch(LEAK);
    for (const name of ['content', 'reasoning_content', 'refusal'])
      expect(joinDeltas(answer.list, (delta) => delta[name])).toBe(MASKED);
    const lastReasoningIndex = answer.list.findLastIndex(
      (event) => joinDeltas([event], (delta) => delta.reasoning_content) !== '',
    );
    const firstTextIndex = answer.list.findIndex(
      (event) => joinDeltas([event], (delta) => delta.content) !== '',
    );
    expect(lastReasoningIndex).toBeLessThan(firstTextIndex);
    expect(choicesIn(answer.list).at(-1)).toMatchObject({ delta: {}, finish_reason: 'stop' });
    const plainAnswer = await sendStreamRequest('chat', 'on-chat', body, []);
    expect(joinDeltas(plainAnswer.list, (delta) => delta.content)).toBe(TEXT);
    expect((await recordOf(answer)).cost_nano).toBe((await recordOf(plainAnswer)).cost_nano);
    expect(await verdictsOf(answer)).toEqual(['masking/mail answer masked']);
    expect((await recordOf(plainAnswer)).gates).toBeNull();
  });

  test('fields that every event repeats next to its text are masked in each of them', async () => {
    const repeatedFields = { citations: ['https://x.org/jane.doe@example.com'] };
    const textChunks = charactersOf(TEXT.repeat(3)).map((content) => chunk({ content }, repeatedFields));
    const { raw, list } = await sendStreamRequest('chat', 'on-chat', chatStream(...textChunks, stop));
    expect(raw).not.toMatch(LEAK);
    expect(joinDeltas(list, (delta) => delta.content)).toBe(MASKED.repeat(3));
  });

  test('events without text keep their bytes', async () => {
    const untouchedEvent =
      'data: {"id":"c",  "object":"chat.completion.chunk","created":1.0,"model":"on-chat","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n';
    const { raw } = await sendStreamRequest(
      'chat',
      'on-chat',
      `: hello\n\n${untouchedEvent}${chatStream(chunk({ content: 'a' }), stop)}`,
    );
    expect(raw).toContain(untouchedEvent);
    expect(raw).toContain(': hello\n\n');
  });

  test('masked tool arguments stay valid JSON, and choices and calls are kept apart', async () => {
    const args = JSON.stringify({ to: 'jane.doe@example.com', body: 'a "b" \\ é\n😀' }).replace(
      '@',
      String.raw`\u0040`,
    );
    const piece = (index: number, tool: number, of: string): Json =>
      chunk(
        {},
        {
          choices: [
            {
              index,
              delta: { tool_calls: [{ index: tool, function: { arguments: of } }] },
              finish_reason: null,
            },
          ],
        },
      );
    const callStart = (index: number, tool: number): Json =>
      chunk(
        {},
        {
          choices: [
            {
              index,
              delta: {
                tool_calls: [
                  {
                    index: tool,
                    id: `call_${index}${tool}`,
                    type: 'function',
                    function: { name: 'act', arguments: '' },
                  },
                ],
              },
              finish_reason: null,
            },
          ],
        },
      );
    const lastChunks = [0, 1].map((index) =>
      chunk({}, { choices: [{ index, delta: {}, finish_reason: 'tool_calls' }] }),
    );
    const argumentChunks = charactersOf(args).flatMap((of) => [
      piece(0, 0, of),
      piece(1, 0, of),
      piece(1, 1, of),
    ]);
    const answer = await sendStreamRequest(
      'chat',
      'on-chat',
      chatStream(callStart(0, 0), callStart(1, 0), callStart(1, 1), ...argumentChunks, ...lastChunks),
      ['mail'],
      { n: 2 },
    );
    expect(answer.raw).not.toMatch(LEAK);
    for (const [index, tool] of [
      [0, 0],
      [1, 0],
      [1, 1],
    ] as const) {
      const maskedArguments = joinDeltas(
        answer.list,
        ({ tool_calls: calls }) =>
          ((calls ?? []) as { index: number; function: { arguments: string } }[]).find(
            (each) => each.index === tool,
          )?.function.arguments,
        index,
      );
      expect(JSON.parse(maskedArguments)).toEqual({ to: '[e-mail]', body: 'a "b" \\ é\n😀' });
    }
  });

  test('logprobs are omitted for a masked choice and sent at the end for an unmasked one', async () => {
    const choiceChunks = (index: number, of: string): Json[] =>
      piecesOf(of).map((piece) =>
        chunk(
          {},
          {
            choices: [
              {
                index,
                delta: { content: piece },
                logprobs: { content: logprobs(piece), refusal: null },
                finish_reason: null,
              },
            ],
          },
        ),
      );
    const lastChunks = [0, 1].map((index) =>
      chunk({}, { choices: [{ index, delta: {}, finish_reason: 'stop' }] }),
    );
    const answer = await sendStreamRequest(
      'chat',
      'on-chat',
      chatStream(...choiceChunks(0, TEXT), ...choiceChunks(1, 'Nothing to hide.'), ...lastChunks),
      ['mail'],
      { n: 2, logprobs: true },
    );
    expect(answer.raw).not.toMatch(LEAK);
    const tokensOf = (index: number): string =>
      choicesIn(answer.list, index)
        .flatMap(({ logprobs: of }) => ((of?.content ?? []) as Json[]).map(({ token }) => token))
        .join('');
    expect(tokensOf(0)).toBe('');
    expect(tokensOf(1)).toBe('Nothing to hide.');
  });

  test('non-streaming response is masked in text, reasoning and tool arguments', async () => {
    const choice = (index: number, of: string) => ({
      index,
      message: {
        role: 'assistant',
        content: of,
        refusal: null,
        reasoning_content: of,
        annotations: [
          {
            type: 'url_citation',
            url_citation: { title: of, url: 'https://x.org', start_index: 0, end_index: 3 },
          },
        ],
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'act', arguments: JSON.stringify({ [of]: of, n: 1 }) },
          },
        ],
      },
      logprobs: { content: logprobs(of), refusal: null },
      finish_reason: 'stop',
    });
    supplier.answer = {
      body: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'up',
        choices: [choice(0, TEXT), choice(1, 'No.')],
        usage,
      },
    };
    const { raw, json } = await sendRequest('chat', 'on-chat', ['mail'], { n: 2 });
    expect(raw).not.toMatch(LEAK);
    const [masked, plain] = json().choices as { message: Json; logprobs: unknown }[];
    expect(masked).toMatchObject({
      message: { content: MASKED, reasoning_content: MASKED },
      logprobs: null,
    });
    expect(
      JSON.parse(
        (masked!.message.tool_calls as { function: { arguments: string } }[])[0]!.function.arguments,
      ),
    ).toEqual({ [MASKED]: MASKED, n: 1 });
    expect(plain).toEqual(choice(1, 'No.'));
  });

  test('legacy completions stream is masked', async () => {
    const logprobsOf = (of: string): Json => ({
      tokens: piecesOf(of),
      token_logprobs: piecesOf(of).map(() => -1),
      top_logprobs: null,
      text_offset: piecesOf(of).map(() => 0),
    });
    const choiceChunks = (index: number, of: string) =>
      charactersOf(of).map((piece) => ({
        id: 'c',
        object: 'text_completion',
        created: 1,
        model: 'up',
        choices: [{ index, text: piece, logprobs: logprobsOf(piece), finish_reason: null }],
      }));
    const lastChunks = [0, 1].map((index) => ({
      id: 'c',
      object: 'text_completion',
      created: 1,
      model: 'up',
      choices: [{ index, text: '', logprobs: null, finish_reason: 'stop' }],
    }));
    const answer = await sendStreamRequest(
      'completions',
      'on-chat',
      data(...choiceChunks(0, TEXT), ...choiceChunks(1, 'Fine.'), ...lastChunks, '[DONE]'),
      ['mail'],
      { n: 2 },
    );
    expect(answer.raw).not.toMatch(LEAK);
    const textOf = (index: number): string =>
      choicesIn(answer.list, index)
        .map((each) => each.text)
        .join('');
    expect([textOf(0), textOf(1)]).toEqual([MASKED, 'Fine.']);
    expect(choicesIn(answer.list, 0).every((each) => each.logprobs === null)).toBe(true);
    expect(
      choicesIn(answer.list, 1)
        .flatMap((each) => (each.logprobs?.tokens ?? []) as string[])
        .join(''),
    ).toBe('Fine.');
  });
});
