import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, SettingsError } from '../../../src/platform/config';

const folder = mkdtempSync(join(tmpdir(), 'switchboard-telemetry-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const load = (environment: Readonly<Record<string, string>>) =>
  loadSettings({ NODE_ENV: 'test', DATA_FOLDER: folder, ...environment });

const issuesOf = (environment: Readonly<Record<string, string>>): string[] => {
  try {
    load(environment);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.issues.map(({ name }) => name);
  }
};

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://collector' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:password@collector:4318' }],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'no value' }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=line%0Abreak' }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'x key=1' }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=%zz' }],
  [{ OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }],
  [{ OTEL_EXPORTER_OTLP_CERTIFICATE: '/no/such/file' }],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
  [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }],
  [{ OTEL_TRACES_SAMPLER_ARG: 'half' }],
  [{ OTEL_TRACES_EXPORTER: 'console' }],
  [{ OTEL_RESOURCE_ATTRIBUTES: 'environment' }],
  [{ OTEL_SDK_DISABLED: 'maybe' }],
  [{ OTEL_METRIC_EXPORT_INTERVAL: '0' }],
  [{ TELEMETRY_CONVENTIONS: '1.36' }],
])('%j is rejected', (environment: Record<string, string>) => {
  expect(issuesOf(environment)).toEqual(Object.keys(environment));
});

test('conflicting settings are rejected', () => {
  expect(issuesOf({ OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '20' })).toEqual([
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  ]);
  expect(issuesOf({ OTEL_EXPORTER_OTLP_CLIENT_KEY: __filename })).toEqual(['OTEL_EXPORTER_OTLP_CLIENT_KEY']);
});

test('standard OpenTelemetry variables are read as specified', () => {
  const settings = load({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example:4318/base',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc%3D%3D, x-tenant=1',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,host.name=a%2Cb',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '.25',
  });
  expect(settings).toMatchObject({
    otlpEndpoint: 'https://collector.example:4318/base',
    otlpHeaders: { authorization: 'Basic abc==', 'x-tenant': '1' },
    otelResourceAttributes: { 'deployment.environment.name': 'test', 'host.name': 'a,b' },
    otelSampler: 'parentbased_traceidratio',
    otelSamplerShare: 0.25,
  });
});
