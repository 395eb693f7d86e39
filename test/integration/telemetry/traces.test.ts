import type { ReceivedSpan } from '../../support/otlp-receiver';
import {
  REPLY_TEXT,
  chatAnswer,
  failoverAnswer,
  spanNamed,
  openTelemetryFixture,
  type TelemetryFixture,
} from './telemetry-fixture';

const PROMPT = 'a prompt that nobody else may read';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

const chat = (overrides: object = {}): object => ({
  model: 'pair',
  messages: [{ role: 'user', content: PROMPT }],
  ...overrides,
});

describe.each(['http/protobuf', 'http/json'])('Traces over %s', (protocol) => {
  let fixture: TelemetryFixture;
  beforeAll(async () => {
    fixture = await openTelemetryFixture({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-receiver-key=a%20secret',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
  });
  afterAll(() => fixture.close());
  afterEach(() => expect(fixture.receiver.faults).toEqual([]));

  test('show a streamed request with failover and gates as one tree', async () => {
    fixture.supplier.answer = failoverAnswer;
    const { text, spans } = await fixture.traced(
      '/v1/chat/completions',
      chat({ stream: true, temperature: 0.5, max_tokens: 64, seed: 7 }),
      { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=value' },
    );
    expect(text).toContain(REPLY_TEXT);
    const server = spanNamed(spans, 'POST /v1/chat/completions');
    expect(server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      traceState: 'vendor=value',
      kind: 'server',
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'url.path': '/v1/chat/completions',
        'url.scheme': 'http',
        'http.response.status_code': 200,
        'switchboard.request.model': 'pair',
        'switchboard.model': 'pair',
        'switchboard.provider': 'messages',
        'switchboard.region': 'eu',
        'switchboard.failover': true,
        'switchboard.tries': 2,
        'switchboard.usage.source': 'supplier',
        'switchboard.time_to_first_token': expect.any(Number) as number,
        // 10 + 20 + 30 input tokens and 7 output tokens at $1 and $2 per 1M tokens.
        'switchboard.cost.usd': 0.000_074,
        'switchboard.hold.usd': expect.any(Number) as number,
      },
      resource: {
        'service.name': 'switchboard',
        'deployment.environment.name': 'test',
        'telemetry.sdk.name': 'opentelemetry',
      },
    });
    expect(server.attributes).not.toHaveProperty('switchboard.key.id');
    expect(server.events).toEqual([
      {
        name: 'switchboard.failover',
        attributes: {
          'switchboard.from': 'openai',
          'switchboard.to': 'messages',
          'switchboard.reason': 'upstream_unavailable',
        },
      },
    ]);
    const firstSpan = spanNamed(spans, 'chat first-model');
    expect(firstSpan).toMatchObject({
      parentSpanId: server.spanId,
      kind: 'client',
      isError: true,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'first-model',
        'gen_ai.request.stream': true,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.max_tokens': 64,
        'gen_ai.request.seed': 7,
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(fixture.supplier.url).port),
        'http.response.status_code': 503,
        'error.type': 'upstream_unavailable',
        'switchboard.provider': 'openai',
      },
    });
    expect(firstSpan.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
    const secondSpan = spanNamed(spans, 'chat second-model');
    expect(secondSpan).toMatchObject({
      parentSpanId: server.spanId,
      kind: 'client',
      isError: false,
      links: [
        {
          spanId: firstSpan.spanId,
          attributes: { 'switchboard.move': 'failover', 'switchboard.reason': 'upstream_unavailable' },
        },
      ],
      attributes: {
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'second-model',
        'gen_ai.response.model': 'second-model-0625',
        'gen_ai.response.id': 'msg_traced',
        'gen_ai.response.finish_reasons': ['end_turn'],
        'gen_ai.response.time_to_first_chunk': expect.any(Number) as number,
        'gen_ai.usage.input_tokens': 60,
        'gen_ai.usage.output_tokens': 7,
        'gen_ai.usage.cache_read.input_tokens': 20,
        'gen_ai.usage.cache_write.input_tokens': 30,
      },
    });
    expect(secondSpan.attributes).not.toHaveProperty('error.type');
    const gates = spans.filter(({ name }) => name.startsWith('gate '));
    expect(
      gates.map(({ name, kind, attributes }) => [name, kind, attributes['switchboard.gate.stage']]),
    ).toEqual(
      expect.arrayContaining([
        ['gate tried/open', 'internal', 'request'],
        ['gate tried/closed', 'internal', 'request'],
        ['gate tried/second', 'internal', 'request'],
        ['gate tried/lanes', 'internal', 'candidates'],
      ]),
    );
    expect(spans).toHaveLength(3 + gates.length);
    for (const span of spans) {
      if (span !== server) expect(span.parentSpanId).toBe(server.spanId);
      expect(
        span.startNano >= server.startNano - 1_000_000n && span.endNano <= server.endNano + 1_000_000n,
      ).toBe(true);
      expect(span.endNano >= span.startNano).toBe(true);
    }
    expect(firstSpan.endNano <= secondSpan.startNano + 1_000_000n).toBe(true);
  });

  test('contain tokens of every kind for a non-streaming response', async () => {
    fixture.supplier.answer = { body: chatAnswer };
    const { spans } = await fixture.traced('/v1/chat/completions', chat());
    expect(spanNamed(spans, 'chat first-model').attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 12,
      'gen_ai.usage.cache_read.input_tokens': 8,
      'gen_ai.usage.reasoning.output_tokens': 5,
      'gen_ai.response.model': 'first-model-0613',
      'gen_ai.response.id': 'chatcmpl-traced',
      'gen_ai.response.finish_reasons': ['stop'],
      'http.response.status_code': 200,
    });
  });

  test("contain the model for a stream in the caller's own dialect", async () => {
    fixture.supplier.answer = failoverAnswer;
    const body = {
      model: 'pair',
      max_tokens: 64,
      stream: true,
      messages: [{ role: 'user', content: PROMPT }],
    };
    const { spans } = await fixture.traced('/v1/messages', body);
    expect(spanNamed(spans, 'POST /v1/messages').isError).toBe(false);
    expect(spanNamed(spans, 'chat second-model').attributes).toMatchObject({
      'gen_ai.response.model': 'second-model-0625',
      'gen_ai.response.id': 'msg_traced',
      'gen_ai.usage.output_tokens': 7,
    });
  });

  test('contain neither content nor secrets', async () => {
    fixture.supplier.answer = failoverAnswer;
    await fixture.traced('/v1/chat/completions', chat({ stream: true, user: 'somebody-in-particular' }), {
      'user-agent': 'a-particular-program/1.0',
    });
    const { spans } = await fixture.traced('/v1/chat/completions', chat({ tools: 'spoilt' }));
    expect(spans.length).toBeGreaterThan(0);
    await fixture.receiver.until(() => fixture.receiver.metrics.has('gateway_requests_total'));
    const { text, deliveries } = fixture.receiver;
    for (const forbiddenText of [
      PROMPT,
      REPLY_TEXT,
      'somebody-in-particular',
      'a-particular-program',
      'scripted',
    ])
      expect(text).not.toContain(forbiddenText);
    const key = fixture.app.firstKeys?.demo ?? '';
    expect(key).not.toBe('');
    expect(text).not.toContain(key);
    // Excludes the public part of the key as well.
    expect(text).not.toContain(key.slice(3, 15));
    expect(text).not.toContain(fixture.app.firstKeys?.root ?? '-');
    expect(deliveries.every(({ headers }) => headers['x-receiver-key'] === 'a secret')).toBe(true);
  });
});

describe('Trace parents and sampling', () => {
  let fixture: TelemetryFixture;
  beforeAll(async () => {
    fixture = await openTelemetryFixture({ OTEL_METRICS_EXPORTER: 'none', TELEMETRY_KEY_ID: 'true' });
    fixture.supplier.answer = { body: chatAnswer };
  });
  afterAll(() => fixture.close());

  const rootSpan = async (headers: Readonly<Record<string, string>> = {}): Promise<ReceivedSpan> =>
    spanNamed(
      (await fixture.traced('/v1/chat/completions', chat(), headers)).spans,
      'POST /v1/chat/completions',
    );

  test.each([
    ['none', {}],
    ['of another version’s length', { traceparent: `00-${TRACE}-${PARENT}-01-more` }],
    ['without an id', { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` }],
    ['no such thing', { traceparent: 'zz', tracestate: '=,=' }],
  ])('a request whose parent is %s starts a new trace', async (_what, headers) => {
    const span = await rootSpan(headers);
    expect(span.traceId).not.toBe(TRACE);
    expect(span.parentSpanId).toBe('');
  });

  test('a request that its caller does not sample is not sampled here', async () => {
    const unsampledResponse = await fixture.post('/v1/chat/completions', chat(), {
      traceparent: `00-${TRACE}-${PARENT}-00`,
    });
    await unsampledResponse.text();
    const id = unsampledResponse.headers.get('x-request-id');
    // A later request has arrived.
    await rootSpan();
    expect(fixture.receiver.spans.some(({ attributes }) => attributes['switchboard.request.id'] === id)).toBe(
      false,
    );
  });

  test('the public id of a key is exported only if the operator enables it', async () => {
    const { attributes } = await rootSpan();
    expect(fixture.app.firstKeys?.demo).toContain(String(attributes['switchboard.key.id']));
    expect(String(attributes['switchboard.key.id']).length).toBeLessThan(20);
  });

  test('metrics are not exported if only traces are enabled', () => {
    expect(fixture.receiver.deliveries.map(({ path }) => path)).not.toContain('/v1/metrics');
  });

  test('a refused request is recorded as a client error without attempts', async () => {
    const { answer, spans } = await fixture.traced('/v1/chat/completions', {
      ...chat(),
      model: 'no-such-model',
    });
    expect(answer.status).toBe(404);
    expect(spans).toHaveLength(4);
    const server = spanNamed(spans, 'POST /v1/chat/completions');
    expect(server).toMatchObject({
      isError: false,
      attributes: {
        'http.response.status_code': 404,
        'switchboard.outcome': 'model_not_found',
        'switchboard.tries': 0,
      },
    });
    expect(JSON.stringify(server.attributes)).not.toContain('no-such-model');
    expect(server.attributes).not.toHaveProperty('error.type');
  });

  test('a request fails if every supplier fails', async () => {
    fixture.supplier.answer = { status: 500, body: { error: { message: 'broken' } } };
    const { answer, spans } = await fixture.traced('/v1/chat/completions', chat());
    fixture.supplier.answer = { body: chatAnswer };
    expect(answer.status).toBeGreaterThanOrEqual(500);
    const server = spanNamed(spans, 'POST /v1/chat/completions');
    expect(server.isError).toBe(true);
    expect(server.attributes).toMatchObject({
      'http.response.status_code': answer.status,
      'switchboard.tries': 2,
      'error.type': server.attributes['switchboard.outcome'],
    });
    expect(spans.filter(({ kind, isError }) => kind === 'client' && isError)).toHaveLength(2);
  });

  test('a refusing gate has its own span', async () => {
    const { spans } = await fixture.traced('/v1/chat/completions', {
      model: 'pair',
      messages: [{ role: 'user', content: '[[closed:reject]]' }],
    });
    expect(spanNamed(spans, 'gate tried/closed').attributes).toMatchObject({
      'switchboard.gate.name': 'tried/closed',
      'switchboard.gate.verdict': 'reject',
    });
    expect(spans.some(({ kind }) => kind === 'client')).toBe(false);
  });
});

test('a sampling ratio of zero traces nothing, even if callers sample', async () => {
  const fixture = await openTelemetryFixture({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  fixture.supplier.answer = { body: chatAnswer };
  for (let attempt = 0; attempt < 20; attempt += 1)
    await (
      await fixture.post('/v1/chat/completions', chat(), { traceparent: `00-${TRACE}-${PARENT}-01` })
    ).text();
  await fixture.close();
  expect(fixture.receiver.spans).toEqual([]);
});
