import type { ReceivedSpan } from '../../support/otlp-receiver';
import {
  ANSWER,
  chatAnswer,
  failingOver,
  named,
  openTelemetryHouse,
  type TelemetryHouse,
} from './telemetry-house';

const PROMPT = 'a prompt that nobody else may read';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

const chat = (rest: object = {}): object => ({
  model: 'pair',
  messages: [{ role: 'user', content: PROMPT }],
  ...rest,
});

describe.each(['http/protobuf', 'http/json'])('as a receiver of %s gets it', (protocol) => {
  let house: TelemetryHouse;
  beforeAll(async () => {
    house = await openTelemetryHouse({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-receiver-key=a%20secret',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
  });
  afterAll(() => house.close());
  afterEach(() => expect(house.receiver.faults).toEqual([]));

  test('a request that failed over, passed gates and was streamed is one tree', async () => {
    house.supplier.answer = failingOver;
    const { text, spans } = await house.traced(
      '/v1/chat/completions',
      chat({ stream: true, temperature: 0.5, max_tokens: 64, seed: 7 }),
      { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=value' },
    );
    expect(text).toContain(ANSWER);
    const server = named(spans, 'POST /v1/chat/completions');
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
        // 10 + 20 + 30 in, 7 out, at one and two dollars a million.
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
    const first = named(spans, 'chat first-model');
    expect(first).toMatchObject({
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
        'server.port': Number(new URL(house.supplier.url).port),
        'http.response.status_code': 503,
        'error.type': 'upstream_unavailable',
        'switchboard.provider': 'openai',
      },
    });
    expect(first.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
    const second = named(spans, 'chat second-model');
    expect(second).toMatchObject({
      parentSpanId: server.spanId,
      kind: 'client',
      isError: false,
      links: [
        {
          spanId: first.spanId,
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
    expect(second.attributes).not.toHaveProperty('error.type');
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
    expect(first.endNano <= second.startNano + 1_000_000n).toBe(true);
  });

  test('a whole answer has its tokens of every kind', async () => {
    house.supplier.answer = { body: chatAnswer };
    const { spans } = await house.traced('/v1/chat/completions', chat());
    expect(named(spans, 'chat first-model').attributes).toMatchObject({
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

  test('a stream in the caller’s own dialect names its model as well', async () => {
    house.supplier.answer = failingOver;
    const body = {
      model: 'pair',
      max_tokens: 64,
      stream: true,
      messages: [{ role: 'user', content: PROMPT }],
    };
    const { spans } = await house.traced('/v1/messages', body);
    expect(named(spans, 'POST /v1/messages').isError).toBe(false);
    expect(named(spans, 'chat second-model').attributes).toMatchObject({
      'gen_ai.response.model': 'second-model-0625',
      'gen_ai.response.id': 'msg_traced',
      'gen_ai.usage.output_tokens': 7,
    });
  });

  test('neither content nor anybody’s secret is in any byte', async () => {
    house.supplier.answer = failingOver;
    await house.traced('/v1/chat/completions', chat({ stream: true, user: 'somebody-in-particular' }), {
      'user-agent': 'a-particular-program/1.0',
    });
    const { spans } = await house.traced('/v1/chat/completions', chat({ tools: 'spoilt' }));
    expect(spans.length).toBeGreaterThan(0);
    await house.receiver.until(() => house.receiver.metrics.has('gateway_requests_total'));
    const { text, deliveries } = house.receiver;
    for (const word of [PROMPT, ANSWER, 'somebody-in-particular', 'a-particular-program', 'scripted'])
      expect(text).not.toContain(word);
    const key = house.app.firstKeys?.demo ?? '';
    expect(key).not.toBe('');
    expect(text).not.toContain(key);
    // Nor the part of it that is public.
    expect(text).not.toContain(key.slice(3, 15));
    expect(text).not.toContain(house.app.firstKeys?.root ?? '-');
    expect(deliveries.every(({ headers }) => headers['x-receiver-key'] === 'a secret')).toBe(true);
  });
});

describe('parents and samples', () => {
  let house: TelemetryHouse;
  beforeAll(async () => {
    house = await openTelemetryHouse({ OTEL_METRICS_EXPORTER: 'none', TELEMETRY_KEY_ID: 'true' });
    house.supplier.answer = { body: chatAnswer };
  });
  afterAll(() => house.close());

  const top = async (headers: Readonly<Record<string, string>> = {}): Promise<ReceivedSpan> =>
    named((await house.traced('/v1/chat/completions', chat(), headers)).spans, 'POST /v1/chat/completions');

  test.each([
    ['none', {}],
    ['of another version’s length', { traceparent: `00-${TRACE}-${PARENT}-01-more` }],
    ['without an id', { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` }],
    ['no such thing', { traceparent: 'zz', tracestate: '=,=' }],
  ])('a request whose parent is %s begins a trace', async (_what, headers) => {
    const span = await top(headers);
    expect(span.traceId).not.toBe(TRACE);
    expect(span.parentSpanId).toBe('');
  });

  test('a caller that does not trace a request is not traced here either', async () => {
    const quiet = await house.post('/v1/chat/completions', chat(), {
      traceparent: `00-${TRACE}-${PARENT}-00`,
    });
    await quiet.text();
    const id = quiet.headers.get('x-request-id');
    // What came after it has arrived.
    await top();
    expect(house.receiver.spans.some(({ attributes }) => attributes['switchboard.request.id'] === id)).toBe(
      false,
    );
  });

  test('the public id of a key is told where the operator wants it', async () => {
    const { attributes } = await top();
    expect(house.app.firstKeys?.demo).toContain(String(attributes['switchboard.key.id']));
    expect(String(attributes['switchboard.key.id']).length).toBeLessThan(20);
  });

  test('metrics are not sent where traces alone are wanted', () => {
    expect(house.receiver.deliveries.map(({ path }) => path)).not.toContain('/v1/metrics');
  });

  test('a refusal is the caller’s mistake, and no try is made', async () => {
    const { answer, spans } = await house.traced('/v1/chat/completions', {
      ...chat(),
      model: 'no-such-model',
    });
    expect(answer.status).toBe(404);
    expect(spans).toHaveLength(4);
    const server = named(spans, 'POST /v1/chat/completions');
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

  test('where every supplier fails, so does the request', async () => {
    house.supplier.answer = { status: 500, body: { error: { message: 'broken' } } };
    const { answer, spans } = await house.traced('/v1/chat/completions', chat());
    house.supplier.answer = { body: chatAnswer };
    expect(answer.status).toBeGreaterThanOrEqual(500);
    const server = named(spans, 'POST /v1/chat/completions');
    expect(server.isError).toBe(true);
    expect(server.attributes).toMatchObject({
      'http.response.status_code': answer.status,
      'switchboard.tries': 2,
      'error.type': server.attributes['switchboard.outcome'],
    });
    expect(spans.filter(({ kind, isError }) => kind === 'client' && isError)).toHaveLength(2);
  });

  test('a gate that refuses is a span of it', async () => {
    const { spans } = await house.traced('/v1/chat/completions', {
      model: 'pair',
      messages: [{ role: 'user', content: '[[closed:reject]]' }],
    });
    expect(named(spans, 'gate tried/closed').attributes).toMatchObject({
      'switchboard.gate.name': 'tried/closed',
      'switchboard.gate.verdict': 'reject',
    });
    expect(spans.some(({ kind }) => kind === 'client')).toBe(false);
  });
});

test('a share of nothing traces nothing, whatever callers say', async () => {
  const house = await openTelemetryHouse({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  house.supplier.answer = { body: chatAnswer };
  for (let asked = 0; asked < 20; asked += 1)
    await (
      await house.post('/v1/chat/completions', chat(), { traceparent: `00-${TRACE}-${PARENT}-01` })
    ).text();
  await house.close();
  expect(house.receiver.spans).toEqual([]);
});
