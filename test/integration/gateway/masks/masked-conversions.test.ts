import {
  sendRequest,
  block,
  charactersOf,
  chatStream,
  closeFixture,
  joinDeltas,
  LEAK,
  MASKED,
  message,
  openFixture,
  otherSupplier,
  response,
  responsesStream,
  sendStreamRequest,
  supplier,
  TEXT,
  text,
  usage,
} from './mask-fixture';
import { until } from '../../../support/until';
import {
  chunk,
  data,
  type Json,
  messageEnd,
  messageStart,
  namedEvents,
  stop,
} from '../streams/stream-fixture';

beforeAll(openFixture);
afterAll(closeFixture);

describe('Masks on converted responses', () => {
  const streams: Record<string, () => string> = {
    chat: () => chatStream(...charactersOf(TEXT).map((piece) => chunk({ content: piece })), stop),
    messages: () => namedEvents(messageStart, ...block(0, ...text(TEXT)), ...messageEnd),
    responses: () => responsesStream(TEXT, '{"to":"jane.doe@example.com"}'),
  };
  const surfaces = ['chat', 'messages', 'responses'] as const;
  const pairs = surfaces.flatMap((surface) =>
    (['chat', 'messages'] as const).map((lane) => [surface, lane] as const),
  );

  test.each(pairs)('%s stream from a %s lane is masked', async (surface, lane) => {
    const { raw, list } = await sendStreamRequest(surface, `on-${lane}`, streams[lane]!());
    expect(raw).not.toMatch(LEAK);
    const pieces = list.flatMap((event) => {
      const { delta } = event;
      if (event.type === 'response.output_text.delta') return [delta];
      if (event.type === 'content_block_delta') return [(delta as Json).text ?? ''];
      return surface === 'chat' ? [joinDeltas([event], (of) => of.content)] : [];
    });
    expect(pieces.join('')).toBe(MASKED);
  });

  test.each(pairs.filter(([surface, lane]) => surface !== lane))(
    'non-streaming %s response from a %s lane is masked',
    async (surface, lane) => {
      const completeBodies: Record<string, object> = {
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
      supplier.answer = { body: completeBodies[lane]! };
      const { raw } = await sendRequest(surface, `on-${lane}`, ['mail']);
      expect(raw).toContain(MASKED);
      expect(raw).not.toMatch(LEAK);
    },
  );
});

test('idempotent replay returns the masked response', async () => {
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
  const requestsBefore = supplier.requests.length;
  const [first, replay] = [
    await sendRequest('chat', 'on-chat', ['mail'], {}, { 'idempotency-key': 'once-and-again' }),
    await sendRequest('chat', 'on-chat', ['mail'], {}, { 'idempotency-key': 'once-and-again' }),
  ];
  expect(supplier.requests).toHaveLength(requestsBefore + 1);
  expect(replay.raw).toBe(first.raw);
  expect(replay.raw).toContain(MASKED);
});

test('stream that continues on another lane is masked as one text', async () => {
  const [half, rest] = [TEXT.slice(0, 14), TEXT.slice(14)];
  const interruptedStream = data(
    chunk({ role: 'assistant', content: '' }),
    ...charactersOf(half).map((piece) => chunk({ content: piece })),
    { error: { message: 'gone', type: 'server_error' } },
  );
  otherSupplier.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: chatStream(
      chunk({ content: half }),
      ...charactersOf(rest).map((piece) => chunk({ content: piece })),
      stop,
    ),
  };
  const { raw, list } = await sendStreamRequest('chat', 'again-chat', interruptedStream);
  expect(raw).not.toMatch(LEAK);
  expect(joinDeltas(list, (delta) => delta.content)).toBe(MASKED);
});

test("interrupted stream reveals neither the held-back text nor the supplier's error", async () => {
  const harmlessStart = 'A long and harmless beginning that is shown for it is more than what is held back. ';
  const textChunks = charactersOf(`${harmlessStart}Yes, jane.doe@exam`).map((piece) =>
    chunk({ content: piece }),
  );
  const failure = { error: { message: `${TEXT} failed`, type: 'server_error' } };
  supplier.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: data(...textChunks),
    rest: data(failure),
  };
  supplier.resume = () => undefined;
  const initialResume = supplier.resume;
  const pendingAnswer = sendRequest('chat', 'on-chat', ['mail'], { stream: true });
  await until(() => supplier.resume !== initialResume);
  supplier.resume();
  const { raw } = await pendingAnswer;
  expect(raw).not.toMatch(LEAK);
  expect(raw).toContain('"error":');
});

test('error message that quotes the supplier is masked', async () => {
  supplier.answer = {
    status: 400,
    body: { error: { message: `No: ${TEXT}`, type: 'invalid_request_error' } },
  };
  const { raw, status } = await sendRequest('chat', 'on-chat', ['mail']);
  expect(status).toBe(400);
  expect(raw).toContain(MASKED);
  expect(raw).not.toMatch(LEAK);
});

test('masks are applied in sequence', async () => {
  const { list } = await sendStreamRequest('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), [
    'mail',
    'shout',
  ]);
  expect(joinDeltas(list, (delta) => delta.content)).toBe(MASKED.replaceAll('[e-mail]', '[E-MAIL "it"]'));
});
