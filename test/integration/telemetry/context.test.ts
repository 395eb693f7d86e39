import { chatAnswer, spanNamed, openTelemetryFixture, type TelemetryFixture } from './telemetry-fixture';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=value' };
const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'hello' }] });

/** Returns the trace headers of the supplier's last request. */
const lastTraceHeaders = (fixture: TelemetryFixture): unknown[] => {
  const { headers: heard = {} } = fixture.supplier.requests.at(-1) ?? {};
  return [heard.traceparent, heard.tracestate];
};

async function open(environment: Readonly<Record<string, string>>): Promise<TelemetryFixture> {
  const fixture = await openTelemetryFixture(environment);
  await fixture.catalogue.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
  fixture.supplier.answer = { body: chatAnswer };
  return fixture;
}

test('suppliers receive no trace context unless an operator enables it', async () => {
  const fixture = await open({});
  await fixture.traced('/v1/chat/completions', chat('one'), headers);
  expect(lastTraceHeaders(fixture)).toEqual([undefined, undefined]);
  await fixture.close();
});

test("a configured supplier receives the gateway's span as its parent", async () => {
  const fixture = await open({ TRACE_CONTEXT_TO: 'openai' });
  const { spans } = await fixture.traced('/v1/chat/completions', chat('one'), headers);
  const { spanId } = spanNamed(spans, 'chat one');
  expect(lastTraceHeaders(fixture)).toEqual([`00-${TRACE}-${spanId}-01`, 'vendor=value']);
  fixture.supplier.answer = { status: 500, body: {} };
  // The second supplier is called last and is not configured.
  await fixture.traced('/v1/chat/completions', chat('pair'), headers);
  expect(fixture.supplier.requests.at(-1)?.path).toContain('messages');
  expect(lastTraceHeaders(fixture)).toEqual([undefined, undefined]);
  await fixture.close();
});

test("without own traces, the caller's trace context is passed to the configured suppliers", async () => {
  const fixture = await open({ TRACE_CONTEXT_TO: 'all', OTEL_SDK_DISABLED: 'true' });
  await (await fixture.post('/v1/chat/completions', chat('one'), headers)).text();
  expect(lastTraceHeaders(fixture)).toEqual([headers.traceparent, headers.tracestate]);
  expect(fixture.receiver.deliveries).toEqual([]);
  await fixture.close();
});
