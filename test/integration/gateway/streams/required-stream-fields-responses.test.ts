import {
  chargedTokens,
  data,
  item,
  type Json,
  namedEvents,
  requestIdOf,
  response,
  responseStartEvents,
  sendAndEnd,
  StreamFixture,
  valueOf,
  valuesOf,
} from './stream-fixture';

describe('Required fields of Responses streams', () => {
  const fixture = new StreamFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());

  test('sequence numbers, response fields and usage are added', async () => {
    const { answer, model, events, record } = await fixture.sendAndRead(
      'responses',
      sendAndEnd(
        data(
          { type: 'response.created', response: {} },
          { type: 'response.output_item.added', item: { ...item, content: [] } },
          { type: 'response.output_text.delta', delta: 'Bern.' },
          { type: 'response.output_item.done', item },
          { type: 'response.completed', response: { output: [item] } },
        ),
      ),
    );
    const values = valuesOf(events);
    expect(events.map(({ event }) => event)).toEqual(values.map(({ type }) => type));
    expect(values.map(({ sequence_number: number }) => number)).toEqual([0, 1, 2, 3, 4]);
    const { svc, response: last } = values.at(-1)!;
    const { input, output } = chargedTokens(record, svc);
    const envelope = { id: `resp_${requestIdOf(answer)}`, object: 'response', model };
    expect(values[0]?.response).toMatchObject({ ...envelope, status: 'in_progress', output: [] });
    expect(values[2]).toMatchObject({ output_index: 0, content_index: 0, item_id: 'msg_1' });
    expect(last).toMatchObject({
      ...envelope,
      status: 'completed',
      output: [item],
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    });
    expect((values[0]?.response as Json).created_at).toBe((last as Json).created_at);
    expect(await fixture.get(`/v1/responses/resp_${requestIdOf(answer)}`)).toMatchObject({
      output: [item],
    });
  });

  test('missing response.created is added', async () => {
    const [, ...others] = responseStartEvents;
    const completedEvent = {
      type: 'response.completed',
      sequence_number: 4,
      response: { ...response, status: 'completed', output: [item] },
    };
    const { events } = await fixture.sendAndRead(
      'responses',
      sendAndEnd(namedEvents(...others, completedEvent)),
    );
    expect(valueOf(events[0]!)).toMatchObject({
      type: 'response.created',
      sequence_number: 0,
      response: { object: 'response', status: 'in_progress', output: [] },
    });
  });

  test('responses usage reports what is charged', async () => {
    const usage = { input_tokens: 11, output_tokens: 2, total_tokens: 26, odd: 1 };
    const completedEvent = {
      type: 'response.completed',
      sequence_number: 4,
      response: { ...response, status: 'completed', output: [item], usage },
    };
    const { events, record } = await fixture.sendAndRead(
      'responses',
      sendAndEnd(namedEvents(...responseStartEvents, completedEvent)),
    );
    const { svc, response: last } = valueOf(events.at(-1)!);
    const { input, output } = chargedTokens(record, svc);
    expect((last as Json).usage).toMatchObject({
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      odd: 1,
    });
  });
});
