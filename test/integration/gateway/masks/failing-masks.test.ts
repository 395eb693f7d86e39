import {
  app,
  sendRequest,
  block,
  charactersOf,
  chatStream,
  closeFixture,
  joinDeltas,
  openFixture,
  recordOf,
  responsesStream,
  sendStreamRequest,
  supplier,
  TEXT,
  text,
  usage,
  verdictsOf,
} from './mask-fixture';
import { chunk, type Json, messageEnd, messageStart, namedEvents, stop } from '../streams/stream-fixture';

beforeAll(openFixture);
afterAll(closeFixture);

describe('Failing masks', () => {
  const failingText = 'All is well until it goes BOOM and is over.';
  const streams = {
    chat: chatStream(...charactersOf(failingText).map((piece) => chunk({ content: piece })), stop),
    messages: namedEvents(messageStart, ...block(0, ...text(failingText)), ...messageEnd),
    responses: responsesStream(failingText, '{}', 'A'),
  };
  const surfaces = ['chat', 'messages', 'responses'] as const;

  test.each(surfaces)('fail-closed mask ends a %s stream with an error in its dialect', async (surface) => {
    const answer = await sendStreamRequest(surface, `on-${surface}`, streams[surface], ['closed']);
    const { raw, list, status } = answer;
    expect(status).toBe(200);
    expect(raw).not.toMatch(/BOO|is over|\[DONE\]|message_stop|response\.completed/);
    expect(JSON.stringify(list.at(-1))).toContain('masking/closed');
    expect(list.at(-1)).toMatchObject(
      surface === 'responses'
        ? { type: 'response.failed', response: { id: 'resp_1', output: [] } }
        : { error: {} },
    );
    expect(await verdictsOf(answer)).toEqual(['masking/closed answer failed']);
    if (surface === 'responses') expect(numbersOf(list)).toEqual(list.map((_, place) => place));
    expect(
      app.log.filter((line) => line.includes('a mask failed') && line.includes('masking/closed')),
    ).not.toEqual([]);
  });
  const numbersOf = (list: readonly Json[]): unknown[] => list.map(({ sequence_number: number }) => number);

  test.each(surfaces)('fail-open mask passes a %s stream on unmasked after its failure', async (surface) => {
    const { raw, list } = await sendStreamRequest(surface, `on-${surface}`, streams[surface], ['open']);
    expect(raw).toMatch(/\[DONE\]|message_stop|response\.completed/);
    const textOfStream = list
      .map((event) =>
        surface === 'chat'
          ? joinDeltas([event], (delta) => delta.content)
          : event.type === 'response.output_text.delta'
            ? event.delta
            : ((event.delta as Json | undefined)?.text ?? ''),
      )
      .join('');
    expect(textOfStream).toBe(failingText);
  });

  test('fail-closed mask returns 503 for a non-streaming response, which costs nothing', async () => {
    supplier.answer = {
      body: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'up',
        choices: [{ index: 0, message: { role: 'assistant', content: failingText }, finish_reason: 'stop' }],
        usage,
      },
    };
    const answer = await sendRequest('chat', 'on-chat', ['closed']);
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({
      error: { code: 'service_unavailable', message: expect.stringContaining('masking/closed') as unknown },
    });
    expect(await recordOf(answer)).toMatchObject({ cost_nano: '0', status: 503 });
    expect(await verdictsOf(answer)).toEqual(['masking/closed answer failed']);
    expect((await sendRequest('chat', 'on-chat', ['open'])).raw).toContain(failingText);
  });

  test('slow mask is logged', async () => {
    const answer = await sendStreamRequest('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), [
      'slow',
    ]);
    expect(joinDeltas(answer.list, (delta) => delta.content)).toBe(TEXT);
    expect(await verdictsOf(answer)).toEqual(['masking/slow answer abstain']);
    expect(
      app.log.filter((line) => line.includes('a mask was slow') && line.includes('masking/slow')),
    ).not.toEqual([]);
  });

  test('mask whose applicability check fails returns 503 without a supplier call', async () => {
    const requestsBefore = supplier.requests.length;
    const answer = await sendRequest('chat', 'on-chat', ['unsure']);
    expect([answer.status, answer.raw.includes('masking/unsure')]).toEqual([503, true]);
    expect(supplier.requests).toHaveLength(requestsBefore);
    const failOpen = await sendStreamRequest('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), [
      'late',
    ]);
    expect(joinDeltas(failOpen.list, (delta) => delta.content)).toBe(TEXT);
  });
});

describe('Native lane', () => {
  test('native request with a fail-closed mask returns 403 without a supplier call', async () => {
    const requestsBefore = supplier.requests.length;
    const answer = await sendRequest('native', 'on-native', ['mail']);
    expect(answer.status).toBe(403);
    expect(answer.json()).toMatchObject({
      error: { code: 'request_rejected', message: expect.stringContaining('masking/mail') as unknown },
    });
    expect(supplier.requests).toHaveLength(requestsBefore);
  });

  test('native response with a fail-open mask passes unmasked', async () => {
    const body = responsesStream('BOOM', '{}');
    const answer = await sendStreamRequest('native', 'on-native', body, ['open'], { store: false });
    expect(answer.raw).toBe(body);
    expect(await verdictsOf(answer)).toEqual(['masking/open answer failed']);
  });
});
