import {
  ask,
  charactersOf,
  chatStream,
  choicesIn,
  closeHouse,
  joined,
  LEAK,
  logprobs,
  MASKED,
  openHouse,
  piecesOf,
  recordOf,
  streamed,
  supplier,
  TEXT,
  usage,
  verdictsOf,
} from './mask-house';
import { chunk, data, type Json, stop } from '../streams/stream-house';

beforeAll(openHouse);
afterAll(closeHouse);

describe('chat', () => {
  const said = (of: string, name = 'content') => charactersOf(of).map((piece) => chunk({ [name]: piece }));

  test('its text, its thinking and its refusal are masked in pieces, and what it costs does not change', async () => {
    const body = chatStream(
      ...said(TEXT, 'reasoning_content'),
      ...said(TEXT),
      ...said(TEXT, 'refusal'),
      stop,
    );
    const answer = await streamed('chat', 'on-chat', body);
    expect(answer.raw).not.toMatch(LEAK);
    for (const name of ['content', 'reasoning_content', 'refusal'])
      expect(joined(answer.list, (delta) => delta[name])).toBe(MASKED);
    const lastThought = answer.list.findLastIndex(
      (event) => joined([event], (delta) => delta.reasoning_content) !== '',
    );
    const firstText = answer.list.findIndex((event) => joined([event], (delta) => delta.content) !== '');
    expect(lastThought).toBeLessThan(firstText);
    expect(choicesIn(answer.list).at(-1)).toMatchObject({ delta: {}, finish_reason: 'stop' });
    const plain = await streamed('chat', 'on-chat', body, []);
    expect(joined(plain.list, (delta) => delta.content)).toBe(TEXT);
    expect((await recordOf(answer)).cost_nano).toBe((await recordOf(plain)).cost_nano);
    expect(await verdictsOf(answer)).toEqual(['masking/mail answer masked']);
    expect((await recordOf(plain)).gates).toBeNull();
  });

  test('what every event repeats beside its text is masked in each of them', async () => {
    const beside = { citations: ['https://x.org/jane.doe@example.com'] };
    const said = charactersOf(TEXT.repeat(3)).map((content) => chunk({ content }, beside));
    const { raw, list } = await streamed('chat', 'on-chat', chatStream(...said, stop));
    expect(raw).not.toMatch(LEAK);
    expect(joined(list, (delta) => delta.content)).toBe(MASKED.repeat(3));
  });

  test('events without a text keep their bytes', async () => {
    const odd =
      'data: {"id":"c",  "object":"chat.completion.chunk","created":1.0,"model":"on-chat","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n';
    const { raw } = await streamed(
      'chat',
      'on-chat',
      `: hello\n\n${odd}${chatStream(chunk({ content: 'a' }), stop)}`,
    );
    expect(raw).toContain(odd);
    expect(raw).toContain(': hello\n\n');
  });

  test('the arguments of its calls stay JSON, and several choices and calls are kept apart', async () => {
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
    const begun = (index: number, tool: number): Json =>
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
    const ends = [0, 1].map((index) =>
      chunk({}, { choices: [{ index, delta: {}, finish_reason: 'tool_calls' }] }),
    );
    const both = charactersOf(args).flatMap((of) => [piece(0, 0, of), piece(1, 0, of), piece(1, 1, of)]);
    const answer = await streamed(
      'chat',
      'on-chat',
      chatStream(begun(0, 0), begun(1, 0), begun(1, 1), ...both, ...ends),
      ['mail'],
      { n: 2 },
    );
    expect(answer.raw).not.toMatch(LEAK);
    for (const [index, tool] of [
      [0, 0],
      [1, 0],
      [1, 1],
    ] as const) {
      const given = joined(
        answer.list,
        ({ tool_calls: calls }) =>
          ((calls ?? []) as { index: number; function: { arguments: string } }[]).find(
            (each) => each.index === tool,
          )?.function.arguments,
        index,
      );
      expect(JSON.parse(given)).toEqual({ to: '[e-mail]', body: 'a "b" \\ é\n😀' });
    }
  });

  test('tokens are left out where something of their choice was masked, and come in the end where nothing was', async () => {
    const spoken = (index: number, of: string): Json[] =>
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
    const ends = [0, 1].map((index) => chunk({}, { choices: [{ index, delta: {}, finish_reason: 'stop' }] }));
    const answer = await streamed(
      'chat',
      'on-chat',
      chatStream(...spoken(0, TEXT), ...spoken(1, 'Nothing to hide.'), ...ends),
      ['mail'],
      { n: 2, logprobs: true },
    );
    expect(answer.raw).not.toMatch(LEAK);
    const tokens = (index: number): string =>
      choicesIn(answer.list, index)
        .flatMap(({ logprobs: of }) => ((of?.content ?? []) as Json[]).map(({ token }) => token))
        .join('');
    expect(tokens(0)).toBe('');
    expect(tokens(1)).toBe('Nothing to hide.');
  });

  test('whole answers', async () => {
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
    const { raw, json } = await ask('chat', 'on-chat', ['mail'], { n: 2 });
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

  test('the older completions', async () => {
    const tokens = (of: string): Json => ({
      tokens: piecesOf(of),
      token_logprobs: piecesOf(of).map(() => -1),
      top_logprobs: null,
      text_offset: piecesOf(of).map(() => 0),
    });
    const spoken = (index: number, of: string) =>
      charactersOf(of).map((piece) => ({
        id: 'c',
        object: 'text_completion',
        created: 1,
        model: 'up',
        choices: [{ index, text: piece, logprobs: tokens(piece), finish_reason: null }],
      }));
    const ends = [0, 1].map((index) => ({
      id: 'c',
      object: 'text_completion',
      created: 1,
      model: 'up',
      choices: [{ index, text: '', logprobs: null, finish_reason: 'stop' }],
    }));
    const answer = await streamed(
      'completions',
      'on-chat',
      data(...spoken(0, TEXT), ...spoken(1, 'Fine.'), ...ends, '[DONE]'),
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
