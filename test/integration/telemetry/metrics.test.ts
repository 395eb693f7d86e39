import type { ReceivedPoint } from '../../support/otlp-receiver';
import { chatAnswer, failoverAnswer, openTelemetryFixture, type TelemetryFixture } from './telemetry-fixture';

const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };
const ofFirst = { 'gen_ai.request.model': 'first-model', 'gen_ai.provider.name': 'openai' };
const ofSecond = { 'gen_ai.request.model': 'second-model', 'gen_ai.provider.name': 'anthropic' };

/** Makes a non-streaming call, and a streaming one that fails over to the second supplier. */
async function callModels(fixture: TelemetryFixture): Promise<void> {
  fixture.supplier.answer = { body: chatAnswer };
  await (await fixture.post('/v1/chat/completions', chat)).text();
  fixture.supplier.answer = failoverAnswer;
  await (await fixture.post('/v1/chat/completions', { ...chat, stream: true })).text();
}

const matches = (point: ReceivedPoint, attributes: object): boolean =>
  Object.entries(attributes).every(([name, value]) => point.attributes[name] === value);

function pointOf(fixture: TelemetryFixture, name: string, attributes: object): ReceivedPoint | undefined {
  const matchingPoints =
    fixture.receiver.metrics.get(name)?.points.filter((point) => matches(point, attributes)) ?? [];
  if (matchingPoints.length > 1)
    throw new Error(`${matchingPoints.length} points of ${name} have ${JSON.stringify(attributes)}`);
  return matchingPoints[0];
}

const totalOf = (point: ReceivedPoint | undefined): number => point?.value ?? point?.count ?? 0;

describe.each(['http/protobuf', 'http/json'])('Metrics over %s', (protocol) => {
  let fixture: TelemetryFixture;
  beforeAll(async () => {
    fixture = await openTelemetryFixture({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
    await callModels(fixture);
    const duration = 'gen_ai.client.inference.duration';
    const requests = { endpoint: 'chat', model: 'pair', status_class: '2xx' };
    await fixture.receiver.until(
      () =>
        totalOf(pointOf(fixture, duration, ofSecond)) === 1 &&
        totalOf(pointOf(fixture, 'gateway_requests_total', requests)) === 2,
    );
  });
  afterAll(() => fixture.close());
  afterEach(() => expect(fixture.receiver.faults).toEqual([]));

  test('record durations of model calls, with errors separate', () => {
    const name = 'gen_ai.client.inference.duration';
    expect(fixture.receiver.metrics.get(name)).toMatchObject({
      unit: 's',
      kind: 'histogram',
      temporality: 'cumulative',
    });
    const points = fixture.receiver.metrics.get(name)!.points.filter((point) => matches(point, ofFirst));
    expect(points.map(({ attributes, count }) => [attributes['error.type'], count])).toEqual([
      [undefined, 1],
      ['upstream_unavailable', 1],
    ]);
    const [point] = points;
    expect(point!.attributes).toEqual({
      ...ofFirst,
      'gen_ai.operation.name': 'chat',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(fixture.supplier.url).port),
    });
    expect(point!.bounds).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
    expect(point!.buckets!.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(point!.sum).toBeGreaterThan(0);
  });

  test('count tokens by direction and modality, and cached and reasoning tokens additionally', () => {
    const tokensUsed = (name: string, of: object): number | undefined =>
      pointOf(fixture, `gen_ai.client.inference.usage.${name}`, { ...of, 'gen_ai.token.modality': 'text' })
        ?.value;
    expect(tokensUsed('input_tokens', ofFirst)).toBe(40);
    expect(tokensUsed('output_tokens', ofFirst)).toBe(12);
    expect(tokensUsed('cache_read.input_tokens', ofFirst)).toBe(8);
    expect(tokensUsed('reasoning.output_tokens', ofFirst)).toBe(5);
    expect(tokensUsed('cache_write.input_tokens', ofFirst)).toBeUndefined();
    expect(tokensUsed('input_tokens', ofSecond)).toBe(60);
    expect(tokensUsed('cache_read.input_tokens', ofSecond)).toBe(20);
    expect(tokensUsed('cache_write.input_tokens', ofSecond)).toBe(30);
    // A failed call has no known usage.
    const failedAttributes = { ...ofFirst, 'gen_ai.token.modality': 'unknown' };
    expect(pointOf(fixture, 'gen_ai.client.inference.usage.input_tokens', failedAttributes)?.value).toBe(0);
    expect(fixture.receiver.metrics.get('gen_ai.client.inference.usage.input_tokens')?.kind).toBe('sum');
    const inputTokensMetric = fixture.receiver.metrics.get('gen_ai.client.inference.operation.input_tokens')!;
    const successfulPoint = inputTokensMetric.points.find(
      (point) => matches(point, ofFirst) && !('error.type' in point.attributes),
    );
    expect(successfulPoint).toMatchObject({ count: 1, sum: 40 });
  });

  test('record the time to first chunk for streams only', () => {
    const name = 'gen_ai.client.inference.time_to_first_chunk';
    expect(pointOf(fixture, name, ofSecond)?.count).toBe(1);
    expect(pointOf(fixture, name, ofFirst)).toBeUndefined();
  });

  test('export the series of /metrics with the same values', () => {
    const requests = { endpoint: 'chat', model: 'pair', status_class: '2xx' };
    expect(pointOf(fixture, 'gateway_requests_total', requests)?.value).toBe(2);
    expect(fixture.receiver.metrics.get('gateway_requests_total')?.kind).toBe('sum');
    expect(fixture.receiver.metrics.get('gateway_build_info')?.kind).toBe('gauge');
    const durations = fixture.receiver.metrics.get('gateway_request_duration_seconds');
    expect(durations).toMatchObject({ kind: 'histogram', unit: 's' });
    const nonStreamingPoint = pointOf(fixture, 'gateway_request_duration_seconds', {
      endpoint: 'chat',
      stream: 'false',
    });
    expect(nonStreamingPoint?.count).toBe(1);
    expect(nonStreamingPoint?.buckets).toHaveLength(nonStreamingPoint!.bounds!.length + 1);
  });

  test('have no attribute with a key or a user', () => {
    const names = new Set(
      [...fixture.receiver.metrics.values()].flatMap(({ points }) =>
        points.flatMap(({ attributes }) => Object.keys(attributes)),
      ),
    );
    expect([...names].filter((name) => /key|user|person|organisation|request.id/.test(name))).toEqual([]);
  });
});

test('deltas sum to the counted total', async () => {
  const fixture = await openTelemetryFixture({
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    OTEL_TRACES_EXPORTER: 'none',
  });
  const name = 'gen_ai.client.inference.duration';
  const sumOfDeltas = (): number =>
    fixture.receiver.metricReports
      .filter((metric) => metric.name === name)
      .flatMap(({ points }) => points.filter((point) => matches(point, ofSecond)))
      .reduce((sum, { count = 0 }) => sum + count, 0);
  await callModels(fixture);
  await fixture.receiver.until(() => sumOfDeltas() === 1);
  // The circuit breaker decides if the first supplier is called again; the second one responds.
  await (await fixture.post('/v1/chat/completions', { ...chat, stream: true })).text();
  await fixture.receiver.until(() => sumOfDeltas() === 2);
  expect(fixture.receiver.metrics.get(name)?.temporality).toBe('delta');
  expect(fixture.receiver.metrics.get('gateway_requests_total')?.temporality).toBe('delta');
  expect(fixture.receiver.deliveries.map(({ path }) => path)).not.toContain('/v1/traces');
  await fixture.close();
});

test('the names of semantic conventions 1.41 are used when configured', async () => {
  const fixture = await openTelemetryFixture({ TELEMETRY_CONVENTIONS: '1.41' });
  await callModels(fixture);
  await fixture.receiver.until(
    () => totalOf(pointOf(fixture, 'gen_ai.client.operation.duration', ofSecond)) === 1,
  );
  const tokensUsed = (type: string, of: object): ReceivedPoint | undefined =>
    pointOf(fixture, 'gen_ai.client.token.usage', { ...of, 'gen_ai.token.type': type });
  expect(tokensUsed('input', ofFirst)).toMatchObject({ count: 1, sum: 40 });
  expect(tokensUsed('output', ofSecond)).toMatchObject({ count: 1, sum: 7 });
  expect(pointOf(fixture, 'gen_ai.client.operation.time_to_first_chunk', ofSecond)?.count).toBe(1);
  expect(
    [...fixture.receiver.metrics.keys()].filter((name) => name.startsWith('gen_ai.client.inference')),
  ).toEqual([]);
  await fixture.receiver.until(() => fixture.receiver.spans.some(({ name }) => name === 'chat second-model'));
  const span = fixture.receiver.spans.find(({ name }) => name === 'chat second-model')!;
  expect(span.attributes).toMatchObject({ 'gen_ai.usage.cache_creation.input_tokens': 30 });
  expect(span.attributes).not.toHaveProperty('gen_ai.usage.cache_write.input_tokens');
  await fixture.close();
});

test('the common OpenTelemetry opt-in selects the latest names', async () => {
  const fixture = await openTelemetryFixture({
    TELEMETRY_CONVENTIONS: '1.41',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http, gen_ai_latest_experimental',
  });
  await callModels(fixture);
  await fixture.receiver.until(() => fixture.receiver.metrics.has('gen_ai.client.inference.duration'));
  expect(fixture.receiver.metrics.has('gen_ai.client.token.usage')).toBe(false);
  await fixture.close();
});
