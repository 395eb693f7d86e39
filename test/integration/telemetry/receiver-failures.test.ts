import { Metrics } from '#product/platform';
import { OtlpReceiver } from '../../support/otlp-receiver';
import { until } from '../../support/until';
import { chatAnswer, openTelemetryFixture, type TelemetryFixture } from './telemetry-fixture';

const chat = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };

async function callModel(fixture: TelemetryFixture, times = 1): Promise<void> {
  fixture.supplier.answer = { body: chatAnswer };
  for (let count = 0; count < times; count += 1) {
    const answer = await fixture.post('/v1/chat/completions', chat);
    expect(answer.status).toBe(200);
    await answer.text();
  }
}

const countOf = async (fixture: TelemetryFixture, series: string): Promise<number> => {
  const text = await fixture.app.application.get(Metrics).text();
  const line = text.split('\n').find((each) => each.startsWith(series));
  return Number(line?.slice(series.length) ?? 0);
};

const failedSpans = 'gateway_telemetry_spans_total{outcome="failed"} ';
const droppedSpans = 'gateway_telemetry_spans_total{outcome="dropped"} ';
const sentSpans = 'gateway_telemetry_spans_total{outcome="sent"} ';

test('an unreachable receiver is logged once, does not affect requests, and its recovery is logged', async () => {
  const fixture = await openTelemetryFixture({ OTEL_EXPORTER_OTLP_TIMEOUT: '5000' });
  await callModel(fixture);
  await until(async () => (await countOf(fixture, sentSpans)) > 0);
  const { port } = new URL(fixture.receiver.url);
  await fixture.receiver.close();
  await callModel(fixture);
  await until(async () => (await countOf(fixture, failedSpans)) > 0);
  await callModel(fixture);
  const failedBefore = await countOf(fixture, failedSpans);
  await until(async () => (await countOf(fixture, failedSpans)) > failedBefore || failedBefore > 6);
  const logEntries = fixture.logEntries('traces cannot be delivered');
  expect(logEntries).toHaveLength(1);
  expect(logEntries[0]).toMatchObject({ level: 'warn', receiver: `127.0.0.1:${port}` });
  expect(JSON.stringify(logEntries)).toMatch(/ECONN(REFUSED|RESET)/);
  const newReceiver = await OtlpReceiver.open(Number(port));
  await callModel(fixture);
  await until(() => fixture.logEntries('traces are delivered again').length === 1);
  await newReceiver.until(() => newReceiver.spans.length > 0);
  await fixture.app.close();
  await fixture.supplier.stop();
  await newReceiver.close();
});

test.each([
  ['answers 500', 500, 'words of a receiver'],
  ['answers 400', 400, 'words of a receiver'],
  ['answers with garbage', 200, 'this is no protobuf'],
  ['answers with a page', 200, '<html><body>hello</body></html>'],
])('a receiver that %s does not delay a request', async (_what, status, body) => {
  const fixture = await openTelemetryFixture({ OTEL_METRICS_EXPORTER: 'none' });
  fixture.receiver.behaviour = (response) => {
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end(body);
    return true;
  };
  await callModel(fixture, 2);
  await until(async () => (await countOf(fixture, status === 200 ? sentSpans : failedSpans)) > 0);
  const logEntries = fixture.logEntries('traces cannot be delivered');
  expect(logEntries).toHaveLength(status === 200 ? 0 : 1);
  // The response body of a receiver does not belong in the log.
  expect(JSON.stringify(logEntries)).not.toContain(body);
  await fixture.close();
});

test('a slow receiver causes dropped spans, but delays neither requests nor the shutdown', async () => {
  const fixture = await openTelemetryFixture({
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    OTEL_EXPORTER_OTLP_TIMEOUT: '4000',
  });
  fixture.receiver.behaviour = () => true;
  await callModel(fixture, 10);
  await until(async () => (await countOf(fixture, droppedSpans)) > 0);
  await callModel(fixture, 3);
  const startedAt = performance.now();
  await fixture.close();
  expect(performance.now() - startedAt).toBeLessThan(40_000);
});

test('pending spans are delivered at shutdown', async () => {
  const fixture = await openTelemetryFixture({
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
    OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    OTEL_METRIC_EXPORT_TIMEOUT: '3600000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  });
  await callModel(fixture);
  expect(fixture.receiver.deliveries).toEqual([]);
  await fixture.close();
  expect(fixture.receiver.faults).toEqual([]);
  expect(fixture.receiver.deliveries.every(({ headers }) => headers['content-encoding'] === 'gzip')).toBe(
    true,
  );
  expect(fixture.receiver.spans.map(({ name }) => name)).toContain('chat first-model');
  expect(fixture.receiver.metrics.get('gateway_requests_total')?.points).toHaveLength(1);
});
