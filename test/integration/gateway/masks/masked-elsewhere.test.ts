import {
  ask,
  block,
  charactersOf,
  chatStream,
  closeHouse,
  joined,
  LEAK,
  MASKED,
  message,
  openHouse,
  other,
  response,
  responsesStream,
  streamed,
  supplier,
  TEXT,
  text,
  usage,
} from './mask-house';
import { until } from '../../../support/until';
import { chunk, data, type Json, messageEnd, messageStart, named, stop } from '../streams/stream-house';

beforeAll(openHouse);
afterAll(closeHouse);

describe('translated', () => {
  const streams: Record<string, () => string> = {
    chat: () => chatStream(...charactersOf(TEXT).map((piece) => chunk({ content: piece })), stop),
    messages: () => named(messageStart, ...block(0, ...text(TEXT)), ...messageEnd),
    responses: () => responsesStream(TEXT, '{"to":"jane.doe@example.com"}'),
  };
  const surfaces = ['chat', 'messages', 'responses'] as const;
  const pairs = surfaces.flatMap((surface) =>
    (['chat', 'messages'] as const).map((lane) => [surface, lane] as const),
  );

  test.each(pairs)('a stream of %s from a lane of %s', async (surface, lane) => {
    const { raw, list } = await streamed(surface, `on-${lane}`, streams[lane]!());
    expect(raw).not.toMatch(LEAK);
    const pieces = list.flatMap((event) => {
      const { delta } = event;
      if (event.type === 'response.output_text.delta') return [delta];
      if (event.type === 'content_block_delta') return [(delta as Json).text ?? ''];
      return surface === 'chat' ? [joined([event], (of) => of.content)] : [];
    });
    expect(pieces.join('')).toBe(MASKED);
  });

  test.each(pairs.filter(([surface, lane]) => surface !== lane))(
    'a whole answer of %s from a lane of %s',
    async (surface, lane) => {
      const wholes: Record<string, object> = {
        chat: {
          id: 'c',
          object: 'chat.completion',
          created: 1,
          model: 'up',
          choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
          usage,
        },
        messages: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'up',
          content: [{ type: 'text', text: TEXT }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 10, output_tokens: 20 },
        },
        responses: response([message(TEXT)]),
      };
      supplier.answer = { body: wholes[lane]! };
      const { raw } = await ask(surface, `on-${lane}`, ['mail']);
      expect(raw).toContain(MASKED);
      expect(raw).not.toMatch(LEAK);
    },
  );
});

test('a replay of the idempotency key says what was said', async () => {
  supplier.answer = {
    body: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
      usage,
    },
  };
  const heard = supplier.heard.length;
  const [first, again] = [
    await ask('chat', 'on-chat', ['mail'], {}, { 'idempotency-key': 'once-and-again' }),
    await ask('chat', 'on-chat', ['mail'], {}, { 'idempotency-key': 'once-and-again' }),
  ];
  expect(supplier.heard).toHaveLength(heard + 1);
  expect(again.raw).toBe(first.raw);
  expect(again.raw).toContain(MASKED);
});

test('a stream that breaks off and goes on at another lane is masked as one', async () => {
  const [half, rest] = [TEXT.slice(0, 14), TEXT.slice(14)];
  const cut = data(
    chunk({ role: 'assistant', content: '' }),
    ...charactersOf(half).map((piece) => chunk({ content: piece })),
    { error: { message: 'gone', type: 'server_error' } },
  );
  other.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: chatStream(
      chunk({ content: half }),
      ...charactersOf(rest).map((piece) => chunk({ content: piece })),
      stop,
    ),
  };
  const { raw, list } = await streamed('chat', 'again-chat', cut);
  expect(raw).not.toMatch(LEAK);
  expect(joined(list, (delta) => delta.content)).toBe(MASKED);
});

test('a stream that breaks off for good shows nothing of what was held back, nor what its failure quotes', async () => {
  const before = 'A long and harmless beginning that is shown for it is more than what is held back. ';
  const said = charactersOf(`${before}Yes, jane.doe@exam`).map((piece) => chunk({ content: piece }));
  const failure = { error: { message: `${TEXT} failed`, type: 'server_error' } };
  supplier.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: data(...said),
    rest: data(failure),
  };
  supplier.resume = () => undefined;
  const idle = supplier.resume;
  const asking = ask('chat', 'on-chat', ['mail'], { stream: true });
  await until(() => supplier.resume !== idle);
  supplier.resume();
  const { raw } = await asking;
  expect(raw).not.toMatch(LEAK);
  expect(raw).toContain('"error":');
});

test('an error that quotes its supplier is masked too', async () => {
  supplier.answer = {
    status: 400,
    body: { error: { message: `No: ${TEXT}`, type: 'invalid_request_error' } },
  };
  const { raw, status } = await ask('chat', 'on-chat', ['mail']);
  expect(status).toBe(400);
  expect(raw).toContain(MASKED);
  expect(raw).not.toMatch(LEAK);
});

test('each mask sees what the one before wrote', async () => {
  const { list } = await streamed('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), [
    'mail',
    'shout',
  ]);
  expect(joined(list, (delta) => delta.content)).toBe(MASKED.replaceAll('[e-mail]', '[E-MAIL "it"]'));
});
