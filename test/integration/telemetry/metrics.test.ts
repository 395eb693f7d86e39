import type { ReceivedPoint } from '../../support/otlp-receiver';
import { chatAnswer, failingOver, openTelemetryHouse, type TelemetryHouse } from './telemetry-house';

const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };
const ofFirst = { 'gen_ai.request.model': 'first-model', 'gen_ai.provider.name': 'openai' };
const ofSecond = { 'gen_ai.request.model': 'second-model', 'gen_ai.provider.name': 'anthropic' };

/** A whole answer, and a streamed one after a supplier that failed. */
async function ask(house: TelemetryHouse): Promise<void> {
  house.supplier.answer = { body: chatAnswer };
  await (await house.post('/v1/chat/completions', chat)).text();
  house.supplier.answer = failingOver;
  await (await house.post('/v1/chat/completions', { ...chat, stream: true })).text();
}

const matches = (point: ReceivedPoint, attributes: object): boolean =>
  Object.entries(attributes).every(([name, value]) => point.attributes[name] === value);

function pointOf(house: TelemetryHouse, name: string, attributes: object): ReceivedPoint | undefined {
  const found = house.receiver.metrics.get(name)?.points.filter((point) => matches(point, attributes)) ?? [];
  if (found.length > 1)
    throw new Error(`${found.length} points of ${name} have ${JSON.stringify(attributes)}`);
  return found[0];
}

const inAll = (point: ReceivedPoint | undefined): number => point?.value ?? point?.count ?? 0;

describe.each(['http/protobuf', 'http/json'])('by %s', (protocol) => {
  let house: TelemetryHouse;
  beforeAll(async () => {
    house = await openTelemetryHouse({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
    await ask(house);
    const duration = 'gen_ai.client.inference.duration';
    const requests = { endpoint: 'chat', model: 'pair', status_class: '2xx' };
    await house.receiver.until(
      () =>
        inAll(pointOf(house, duration, ofSecond)) === 1 &&
        inAll(pointOf(house, 'gateway_requests_total', requests)) === 2,
    );
  });
  afterAll(() => house.close());
  afterEach(() => expect(house.receiver.faults).toEqual([]));

  test('calls of models have their durations, with errors apart', () => {
    const name = 'gen_ai.client.inference.duration';
    expect(house.receiver.metrics.get(name)).toMatchObject({
      unit: 's',
      kind: 'histogram',
      temporality: 'cumulative',
    });
    const points = house.receiver.metrics.get(name)!.points.filter((point) => matches(point, ofFirst));
    expect(points.map(({ attributes, count }) => [attributes['error.type'], count])).toEqual([
      [undefined, 1],
      ['upstream_unavailable', 1],
    ]);
    const [point] = points;
    expect(point!.attributes).toEqual({
      ...ofFirst,
      'gen_ai.operation.name': 'chat',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(house.supplier.url).port),
    });
    expect(point!.bounds).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
    expect(point!.buckets!.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(point!.sum).toBeGreaterThan(0);
  });

  test('tokens count by direction and kind, and once more where they came from a cache or were thought', () => {
    const used = (name: string, of: object): number | undefined =>
      pointOf(house, `gen_ai.client.inference.usage.${name}`, { ...of, 'gen_ai.token.modality': 'text' })
        ?.value;
    expect(used('input_tokens', ofFirst)).toBe(40);
    expect(used('output_tokens', ofFirst)).toBe(12);
    expect(used('cache_read.input_tokens', ofFirst)).toBe(8);
    expect(used('reasoning.output_tokens', ofFirst)).toBe(5);
    expect(used('cache_write.input_tokens', ofFirst)).toBeUndefined();
    expect(used('input_tokens', ofSecond)).toBe(60);
    expect(used('cache_read.input_tokens', ofSecond)).toBe(20);
    expect(used('cache_write.input_tokens', ofSecond)).toBe(30);
    // A call without an answer used nothing that is known.
    const failed = { ...ofFirst, 'gen_ai.token.modality': 'unknown' };
    expect(pointOf(house, 'gen_ai.client.inference.usage.input_tokens', failed)?.value).toBe(0);
    expect(house.receiver.metrics.get('gen_ai.client.inference.usage.input_tokens')?.kind).toBe('sum');
    const each = house.receiver.metrics.get('gen_ai.client.inference.operation.input_tokens')!;
    const known = each.points.find((point) => matches(point, ofFirst) && !('error.type' in point.attributes));
    expect(known).toMatchObject({ count: 1, sum: 40 });
  });

  test('only streams have a first chunk', () => {
    const name = 'gen_ai.client.inference.time_to_first_chunk';
    expect(pointOf(house, name, ofSecond)?.count).toBe(1);
    expect(pointOf(house, name, ofFirst)).toBeUndefined();
  });

  test('what stands under /metrics is sent as well, as it stands there', () => {
    const requests = { endpoint: 'chat', model: 'pair', status_class: '2xx' };
    expect(pointOf(house, 'gateway_requests_total', requests)?.value).toBe(2);
    expect(house.receiver.metrics.get('gateway_requests_total')?.kind).toBe('sum');
    expect(house.receiver.metrics.get('gateway_build_info')?.kind).toBe('gauge');
    const durations = house.receiver.metrics.get('gateway_request_duration_seconds');
    expect(durations).toMatchObject({ kind: 'histogram', unit: 's' });
    const whole = pointOf(house, 'gateway_request_duration_seconds', { endpoint: 'chat', stream: 'false' });
    expect(whole?.count).toBe(1);
    expect(whole?.buckets).toHaveLength(whole!.bounds!.length + 1);
  });

  test('no key and no person is an attribute', () => {
    const names = new Set(
      [...house.receiver.metrics.values()].flatMap(({ points }) =>
        points.flatMap(({ attributes }) => Object.keys(attributes)),
      ),
    );
    expect([...names].filter((name) => /key|user|person|organisation|request.id/.test(name))).toEqual([]);
  });
});

test('deltas add up to what was counted', async () => {
  const house = await openTelemetryHouse({
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    OTEL_TRACES_EXPORTER: 'none',
  });
  const name = 'gen_ai.client.inference.duration';
  const inSum = (): number =>
    house.receiver.toldMetrics
      .filter((metric) => metric.name === name)
      .flatMap(({ points }) => points.filter((point) => matches(point, ofSecond)))
      .reduce((sum, { count = 0 }) => sum + count, 0);
  await ask(house);
  await house.receiver.until(() => inSum() === 1);
  // Whether the first supplier is asked again is its breaker's matter; the second one answers.
  await (await house.post('/v1/chat/completions', { ...chat, stream: true })).text();
  await house.receiver.until(() => inSum() === 2);
  expect(house.receiver.metrics.get(name)?.temporality).toBe('delta');
  expect(house.receiver.metrics.get('gateway_requests_total')?.temporality).toBe('delta');
  expect(house.receiver.deliveries.map(({ path }) => path)).not.toContain('/v1/traces');
  await house.close();
});

test('the names of 1.41, for receivers that know no others', async () => {
  const house = await openTelemetryHouse({ TELEMETRY_CONVENTIONS: '1.41' });
  await ask(house);
  await house.receiver.until(() => inAll(pointOf(house, 'gen_ai.client.operation.duration', ofSecond)) === 1);
  const used = (type: string, of: object): ReceivedPoint | undefined =>
    pointOf(house, 'gen_ai.client.token.usage', { ...of, 'gen_ai.token.type': type });
  expect(used('input', ofFirst)).toMatchObject({ count: 1, sum: 40 });
  expect(used('output', ofSecond)).toMatchObject({ count: 1, sum: 7 });
  expect(pointOf(house, 'gen_ai.client.operation.time_to_first_chunk', ofSecond)?.count).toBe(1);
  expect(
    [...house.receiver.metrics.keys()].filter((name) => name.startsWith('gen_ai.client.inference')),
  ).toEqual([]);
  await house.receiver.until(() => house.receiver.spans.some(({ name }) => name === 'chat second-model'));
  const span = house.receiver.spans.find(({ name }) => name === 'chat second-model')!;
  expect(span.attributes).toMatchObject({ 'gen_ai.usage.cache_creation.input_tokens': 30 });
  expect(span.attributes).not.toHaveProperty('gen_ai.usage.cache_write.input_tokens');
  await house.close();
});

test('who opts in for all programs gets the latest names here as well', async () => {
  const house = await openTelemetryHouse({
    TELEMETRY_CONVENTIONS: '1.41',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http, gen_ai_latest_experimental',
  });
  await ask(house);
  await house.receiver.until(() => house.receiver.metrics.has('gen_ai.client.inference.duration'));
  expect(house.receiver.metrics.has('gen_ai.client.token.usage')).toBe(false);
  await house.close();
});
