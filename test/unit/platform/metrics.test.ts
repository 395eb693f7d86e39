import { once } from 'node:events';
import { createServer } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { ConfigModule, loadSettings, SettingsError } from '../../../src/platform/config';
import { Metrics, MetricsModule, MetricsServer } from '../../../src/platform/metrics';

const settings = loadSettings({ SESSION_SECRET: 'a', KEY_PEPPER: 'b', MASTER_KEY: 'c', METRICS_PORT: '0' });

function createModule() {
  const imports = [
    ConfigModule.forRoot(settings),
    MetricsModule.forRoot({ version: '1.2.3', commit: 'abc' }),
  ];
  return NestFactory.createApplicationContext({ module: class MetricsTrial {}, imports }, { logger: false });
}

test('metrics port serves the metrics and no other path', async () => {
  const app = await createModule();
  const server = app.get(MetricsServer);
  expect(await server.start()).toBe(0);
  const port = await server.listen('127.0.0.1', 0);
  app.get(Metrics).requests.inc({ endpoint: 'chat', model: 'm"1', status_class: '2xx', error_code: '' });
  app.get(Metrics).timeToFirstToken.observe({ endpoint: 'chat', model: 'm', stream: 'true' }, 0.3);

  const answer = await fetch(`http://127.0.0.1:${port}/metrics?x=1`);
  const text = await answer.text();
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  expect(text).toContain('gateway_build_info{version="1.2.3",commit="abc"} 1');
  expect(text).toContain(
    'gateway_requests_total{endpoint="chat",model="m\\"1",status_class="2xx",error_code=""} 1',
  );
  expect(text).toContain(
    'gateway_time_to_first_token_seconds_bucket{le="0.5",endpoint="chat",model="m",stream="true"} 1',
  );
  expect(text).toContain('process_cpu_seconds_total');

  for (const path of ['/', '/metrics/', '/health', '//metrics']) {
    expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, 404]);
  }
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404);
  await app.close();
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
});

test('occupied port is an error that names the setting', async () => {
  const portHolder = createServer().listen(0, '127.0.0.1');
  await once(portHolder, 'listening');
  const address = portHolder.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const app = await createModule();
  const startError: unknown = await app
    .get(MetricsServer)
    .listen('127.0.0.1', port)
    .catch((error: unknown) => error);
  expect(startError).toBeInstanceOf(SettingsError);
  expect(String(startError)).toContain(`METRICS_PORT: port ${port} of 127.0.0.1 is taken`);
  portHolder.close();
  await app.close();
});

test('label with external values cannot create unlimited series', async () => {
  const metrics = new Metrics();
  for (let n = 0; n < 5_000; n++) metrics.rejections.inc({ reason: `r${n}` });
  metrics.rejections.inc({ reason: 'x'.repeat(10_000) });
  metrics.rejections.inc({ reason: 'r1' });
  const lines = (await metrics.registry.getSingleMetricAsString('gateway_rejections_total')).split('\n');
  expect(lines.filter((line) => line.startsWith('gateway_'))).toHaveLength(1_001);
  expect(lines).toContain('gateway_rejections_total{reason="other"} 4001');
  expect(lines).toContain('gateway_rejections_total{reason="r1"} 2');
});

test('gauges go up and down', async () => {
  const metrics = new Metrics();
  metrics.streamsActive.add({ endpoint: 'chat' }, 1);
  metrics.streamsActive.add({ endpoint: 'chat' }, 1);
  metrics.streamsActive.add({ endpoint: 'chat' }, -1);
  metrics.settlementsPending.set({}, 4);
  const text = await metrics.registry.metrics();
  expect(text).toContain('gateway_streams_active{endpoint="chat"} 1');
  expect(text).toContain('gateway_settlements_pending 4');
});
