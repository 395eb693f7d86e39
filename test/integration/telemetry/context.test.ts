import { chatAnswer, named, openTelemetryHouse, type TelemetryHouse } from './telemetry-house';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=value' };
const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'hello' }] });

/** What the supplier was told of the trace, last. */
const toldLast = (house: TelemetryHouse): unknown[] => {
  const { headers: heard = {} } = house.supplier.heard.at(-1) ?? {};
  return [heard.traceparent, heard.tracestate];
};

async function open(environment: Readonly<Record<string, string>>): Promise<TelemetryHouse> {
  const house = await openTelemetryHouse(environment);
  await house.shelf.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
  house.supplier.answer = { body: chatAnswer };
  return house;
}

test('suppliers are told nothing of a trace unless an operator says so', async () => {
  const house = await open({});
  await house.traced('/v1/chat/completions', chat('one'), headers);
  expect(toldLast(house)).toEqual([undefined, undefined]);
  await house.close();
});

test('a supplier that is named continues the trace below its own span', async () => {
  const house = await open({ TRACE_CONTEXT_TO: 'openai' });
  const { spans } = await house.traced('/v1/chat/completions', chat('one'), headers);
  const { spanId } = named(spans, 'chat one');
  expect(toldLast(house)).toEqual([`00-${TRACE}-${spanId}-01`, 'vendor=value']);
  house.supplier.answer = { status: 500, body: {} };
  // The other one, which is asked last, is not named.
  await house.traced('/v1/chat/completions', chat('pair'), headers);
  expect(house.supplier.heard.at(-1)?.path).toContain('messages');
  expect(toldLast(house)).toEqual([undefined, undefined]);
  await house.close();
});

test('without traces of our own, what a caller says reaches those that are told', async () => {
  const house = await open({ TRACE_CONTEXT_TO: 'all', OTEL_SDK_DISABLED: 'true' });
  await (await house.post('/v1/chat/completions', chat('one'), headers)).text();
  expect(toldLast(house)).toEqual([headers.traceparent, headers.tracestate]);
  expect(house.receiver.deliveries).toEqual([]);
  await house.close();
});
