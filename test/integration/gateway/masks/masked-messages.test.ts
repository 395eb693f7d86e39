import {
  app,
  sendRequest,
  block,
  call,
  charactersOf,
  closeFixture,
  LEAK,
  logprobs,
  MASKED,
  message,
  openFixture,
  piecesOf,
  response,
  responsesStream,
  sendStreamRequest,
  supplier,
  TEXT,
  text,
  textIn,
} from './mask-fixture';
import { type Json, messageEnd, messageStart, namedEvents } from '../streams/stream-fixture';

beforeAll(openFixture);
afterAll(closeFixture);

describe('Masked messages responses', () => {
  const thinkingBlock = (of: string) =>
    [
      { type: 'thinking', thinking: '', signature: '' },
      ...piecesOf(of).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ] as const;
  const args = JSON.stringify({ to: 'jane.doe@example.com', n: 1 });

  test('thinking block with a match is dropped, and later blocks move up', async () => {
    const citationDelta = {
      type: 'citations_delta',
      citation: { type: 'char_location', cited_text: TEXT, document_title: TEXT, document_index: 0 },
    };
    const body = namedEvents(
      messageStart,
      ...block(0, ...thinkingBlock('Fine so far.')),
      ...block(1, ...thinkingBlock(TEXT)),
      { type: 'ping' },
      ...block(2, ...text(TEXT), citationDelta),
      ...block(
        3,
        { type: 'tool_use', id: 'toolu_1', name: 'act', input: {} },
        ...charactersOf(args).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      ),
      ...block(4, {
        type: 'web_search_tool_result',
        tool_use_id: 'x',
        content: [{ type: 'web_search_result', title: TEXT, encrypted_content: 'jane' }],
      }),
      ...messageEnd,
    );
    const { raw, list } = await sendStreamRequest('messages', 'on-messages', body);
    expect(raw.replace('"encrypted_content":"jane"', '')).not.toMatch(LEAK);
    const deltasOf = (index: number, name: string): string =>
      list
        .flatMap((event) =>
          event.type === 'content_block_delta' && event.index === index
            ? [textIn((event.delta as Json)[name])]
            : [],
        )
        .join('');
    expect(list.flatMap(({ type, index }) => (type === 'content_block_start' ? [index] : []))).toEqual([
      0, 1, 2, 3,
    ]);
    expect([deltasOf(0, 'thinking'), deltasOf(0, 'signature')]).toEqual(['Fine so far.', 'c2lnbmVk']);
    expect(deltasOf(1, 'text')).toBe(MASKED);
    expect(JSON.parse(deltasOf(2, 'partial_json'))).toEqual({ to: '[e-mail]', n: 1 });
    expect(list.find(({ delta }) => (delta as Json | undefined)?.type === 'citations_delta')).toMatchObject({
      delta: { citation: { cited_text: MASKED } },
    });
    expect(list.at(-1)).toEqual({ type: 'message_stop' });
    expect(raw).toContain(namedEvents(...block(0, ...thinkingBlock('Fine so far.'))));
  });

  test('non-streaming messages response is masked without changing its numbers', async () => {
    const numbers = '{"far":12345678901234567890,"one":1.0}';
    const content = [
      { type: 'thinking', thinking: 'Fine.', signature: 'c2lnbmVk' },
      { type: 'thinking', thinking: TEXT, signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'abc' },
      { type: 'text', text: TEXT, citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'act', input: { to: TEXT, numbers: 0 } },
    ];
    const complete = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'up',
      content,
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 20 },
    };
    supplier.answer = { body: JSON.stringify(complete).replace('"numbers":0', `"numbers":${numbers}`) };
    const { raw, json } = await sendRequest('messages', 'on-messages', ['mail']);
    expect(raw).not.toMatch(LEAK);
    expect(raw).toContain(numbers);
    expect(json().content).toMatchObject([
      content[0],
      content[2],
      { text: MASKED },
      { input: { to: MASKED } },
    ]);
  });
});

describe('Masked responses responses', () => {
  const args = JSON.stringify({ to: 'jane.doe@example.com', list: ['é', 1] });
  const numbersOf = (list: readonly Json[]): unknown[] => list.map(({ sequence_number: number }) => number);

  test('repeated text in a stream and the stored response are masked alike', async () => {
    const { raw, list } = await sendStreamRequest('responses', 'on-responses', responsesStream(TEXT, args));
    expect(raw).not.toMatch(LEAK);
    expect(numbersOf(list)).toEqual(list.map((_, place) => place));
    const pieces = (type: string): string =>
      list.flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
    expect(pieces('response.output_text.delta')).toBe(MASKED);
    expect(pieces('response.reasoning_summary_text.delta')).toBe(MASKED);
    expect(JSON.parse(pieces('response.function_call_arguments.delta'))).toEqual({
      to: '[e-mail]',
      list: ['é', 1],
    });
    const find = (type: string): Json => list.findLast((event) => event.type === type)!;
    expect(find('response.output_text.done')).toMatchObject({ text: MASKED, logprobs: [] });
    expect(find('response.content_part.done')).toMatchObject({
      part: { text: MASKED, logprobs: [], annotations: [{ title: MASKED }] },
    });
    expect(find('response.function_call_arguments.done').arguments).toBe(
      pieces('response.function_call_arguments.delta'),
    );
    const completedResponse = find('response.completed').response as Json;
    expect(completedResponse.output).toMatchObject([
      { summary: [{ text: MASKED }], encrypted_content: 'gAAAA' },
      { content: [{ text: MASKED }] },
      { arguments: pieces('response.function_call_arguments.delta') },
    ]);
    const storedResponse = await fetch(`${app.url}/v1/responses/${String(completedResponse.id)}`, {
      headers: { authorization: `Bearer ${app.firstKeys?.demo}` },
    });
    const text = await storedResponse.text();
    expect(text).not.toMatch(LEAK);
    expect((JSON.parse(text) as Json).output).toEqual(completedResponse.output);
  });

  test('logprobs are sent with the complete text if nothing was masked', async () => {
    const { list } = await sendStreamRequest(
      'responses',
      'on-responses',
      responsesStream('Nothing to hide.', '{}'),
    );
    const doneEvent = list.find(({ type }) => type === 'response.output_text.done');
    expect(doneEvent).toMatchObject({ text: 'Nothing to hide.', logprobs: logprobs('Nothing to hide.') });
  });

  test('non-streaming response and its stored copy are masked', async () => {
    supplier.answer = { body: response([message(TEXT), call(args)]) };
    const { raw, json } = await sendRequest('responses', 'on-responses', ['mail']);
    expect(raw).not.toMatch(LEAK);
    expect(json().output).toMatchObject([
      { content: [{ text: MASKED, logprobs: [] }] },
      { arguments: '{"to":"[e-mail]","list":["é",1]}' },
    ]);
    const storedResponse = await fetch(`${app.url}/v1/responses/${String(json().id)}`, {
      headers: { authorization: `Bearer ${app.firstKeys?.demo}` },
    });
    expect(await storedResponse.text()).not.toMatch(LEAK);
  });
});
