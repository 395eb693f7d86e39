import { Metrics } from '#product/platform';
import { OtlpReceiver } from '../../support/otlp-receiver';
import { until } from '../../support/until';
import { chatAnswer, openTelemetryHouse, type TelemetryHouse } from './telemetry-house';

const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };

async function ask(house: TelemetryHouse, times = 1): Promise<void> {
  house.supplier.answer = { body: chatAnswer };
  for (let asked = 0; asked < times; asked += 1) {
    const answer = await house.post('/v1/chat/completions', chat);
    expect(answer.status).toBe(200);
    await answer.text();
  }
}

const countOf = async (house: TelemetryHouse, series: string): Promise<number> => {
  const text = await house.app.application.get(Metrics).text();
  const line = text.split('\n').find((each) => each.startsWith(series));
  return Number(line?.slice(series.length) ?? 0);
};

const failedSpans = 'gateway_telemetry_spans_total{outcome="failed"} ';
const droppedSpans = 'gateway_telemetry_spans_total{outcome="dropped"} ';
const sentSpans = 'gateway_telemetry_spans_total{outcome="sent"} ';

test('a receiver that is away is told of once, hurts nobody, and is told of when it is back', async () => {
  const house = await openTelemetryHouse({ OTEL_EXPORTER_OTLP_TIMEOUT: '5000' });
  await ask(house);
  await until(async () => (await countOf(house, sentSpans)) > 0);
  const { port } = new URL(house.receiver.url);
  await house.receiver.close();
  await ask(house);
  await until(async () => (await countOf(house, failedSpans)) > 0);
  await ask(house);
  const before = await countOf(house, failedSpans);
  await until(async () => (await countOf(house, failedSpans)) > before || before > 6);
  const told = house.said('traces cannot be delivered');
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ level: 'warn', receiver: `127.0.0.1:${port}` });
  expect(JSON.stringify(told)).toMatch(/ECONN(REFUSED|RESET)/);
  const again = await OtlpReceiver.open(Number(port));
  await ask(house);
  await until(() => house.said('traces are delivered again').length === 1);
  await again.until(() => again.spans.length > 0);
  await house.app.close();
  await house.supplier.stop();
  await again.close();
});

test.each([
  ['answers 500', 500, 'words of a receiver'],
  ['answers 400', 400, 'words of a receiver'],
  ['answers with garbage', 200, 'this is no protobuf'],
  ['answers with a page', 200, '<html><body>hello</body></html>'],
])('a receiver that %s does not hold up a request', async (_what, status, body) => {
  const house = await openTelemetryHouse({ OTEL_METRICS_EXPORTER: 'none' });
  house.receiver.behaviour = (response) => {
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end(body);
    return true;
  };
  await ask(house, 2);
  await until(async () => (await countOf(house, status === 200 ? sentSpans : failedSpans)) > 0);
  const told = house.said('traces cannot be delivered');
  expect(told).toHaveLength(status === 200 ? 0 : 1);
  // What a receiver writes is not for the log.
  expect(JSON.stringify(told)).not.toContain(body);
  await house.close();
});

test('a receiver that takes its time costs spans, not requests; and not the end of the service either', async () => {
  const house = await openTelemetryHouse({
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    OTEL_EXPORTER_OTLP_TIMEOUT: '4000',
  });
  house.receiver.behaviour = () => true;
  await ask(house, 10);
  await until(async () => (await countOf(house, droppedSpans)) > 0);
  await ask(house, 3);
  const startedAt = performance.now();
  await house.close();
  expect(performance.now() - startedAt).toBeLessThan(40_000);
});

test('what is left is delivered when the service ends', async () => {
  const house = await openTelemetryHouse({
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
    OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    OTEL_METRIC_EXPORT_TIMEOUT: '3600000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  });
  await ask(house);
  expect(house.receiver.deliveries).toEqual([]);
  await house.close();
  expect(house.receiver.faults).toEqual([]);
  expect(house.receiver.deliveries.every(({ headers }) => headers['content-encoding'] === 'gzip')).toBe(true);
  expect(house.receiver.spans.map(({ name }) => name)).toContain('chat first-model');
  expect(house.receiver.metrics.get('gateway_requests_total')?.points).toHaveLength(1);
});
