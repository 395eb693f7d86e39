import {
  app,
  ask,
  block,
  charactersOf,
  chatStream,
  closeHouse,
  joined,
  openHouse,
  recordOf,
  responsesStream,
  streamed,
  supplier,
  TEXT,
  text,
  usage,
  verdictsOf,
} from './mask-house';
import { chunk, type Json, messageEnd, messageStart, named, stop } from '../streams/stream-house';

beforeAll(openHouse);
afterAll(closeHouse);

describe('a mask that fails', () => {
  const boom = 'All is well until it goes BOOM and is over.';
  const streams = {
    chat: chatStream(...charactersOf(boom).map((piece) => chunk({ content: piece })), stop),
    messages: named(messageStart, ...block(0, ...text(boom)), ...messageEnd),
    responses: responsesStream(boom, '{}', 'A'),
  };
  const surfaces = ['chat', 'messages', 'responses'] as const;

  test.each(surfaces)('closed ends a stream of %s with an error of its dialect', async (surface) => {
    const answer = await streamed(surface, `on-${surface}`, streams[surface], ['closed']);
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

  test.each(surfaces)('open lets a stream of %s pass from there on', async (surface) => {
    const { raw, list } = await streamed(surface, `on-${surface}`, streams[surface], ['open']);
    expect(raw).toMatch(/\[DONE\]|message_stop|response\.completed/);
    const all = list
      .map((event) =>
        surface === 'chat'
          ? joined([event], (delta) => delta.content)
          : event.type === 'response.output_text.delta'
            ? event.delta
            : ((event.delta as Json | undefined)?.text ?? ''),
      )
      .join('');
    expect(all).toBe(boom);
  });

  test('closed refuses a whole answer, which costs nothing', async () => {
    supplier.answer = {
      body: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'up',
        choices: [{ index: 0, message: { role: 'assistant', content: boom }, finish_reason: 'stop' }],
        usage,
      },
    };
    const answer = await ask('chat', 'on-chat', ['closed']);
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({
      error: { code: 'service_unavailable', message: expect.stringContaining('masking/closed') as unknown },
    });
    expect(await recordOf(answer)).toMatchObject({ cost_nano: '0', status: 503 });
    expect(await verdictsOf(answer)).toEqual(['masking/closed answer failed']);
    expect((await ask('chat', 'on-chat', ['open'])).raw).toContain(boom);
  });

  test('one that takes long is told, as nothing can interrupt it', async () => {
    const answer = await streamed('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), ['slow']);
    expect(joined(answer.list, (delta) => delta.content)).toBe(TEXT);
    expect(await verdictsOf(answer)).toEqual(['masking/slow answer abstain']);
    expect(
      app.log.filter((line) => line.includes('a mask was slow') && line.includes('masking/slow')),
    ).not.toEqual([]);
  });

  test('one that cannot say whether it applies fails before a supplier is asked', async () => {
    const heard = supplier.heard.length;
    const answer = await ask('chat', 'on-chat', ['unsure']);
    expect([answer.status, answer.raw.includes('masking/unsure')]).toEqual([503, true]);
    expect(supplier.heard).toHaveLength(heard);
    const open = await streamed('chat', 'on-chat', chatStream(chunk({ content: TEXT }), stop), ['late']);
    expect(joined(open.list, (delta) => delta.content)).toBe(TEXT);
  });
});

describe('the native lane, which passes byte for byte,', () => {
  test('is refused where a closed mask applies, before a supplier is asked', async () => {
    const heard = supplier.heard.length;
    const answer = await ask('native', 'on-native', ['mail']);
    expect(answer.status).toBe(403);
    expect(answer.json()).toMatchObject({
      error: { code: 'request_rejected', message: expect.stringContaining('masking/mail') as unknown },
    });
    expect(supplier.heard).toHaveLength(heard);
  });

  test('passes unmasked where an open one applies', async () => {
    const body = responsesStream('BOOM', '{}');
    const answer = await streamed('native', 'on-native', body, ['open'], { store: false });
    expect(answer.raw).toBe(body);
    expect(await verdictsOf(answer)).toEqual(['masking/open answer failed']);
  });
});
