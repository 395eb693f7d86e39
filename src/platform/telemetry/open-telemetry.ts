import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates } from 'node:tls';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Settings } from '../config';
import type { Logger } from '../logging';
import type { Metrics } from '../metrics';
import { proxyAgent } from '../supplier-http';
import { conventionsOf } from './conventions';
import { DeliveryWatch, spanCounts } from './deliveries';
import { MetricBridge } from './metric-bridge';
import { ModelMetrics } from './model-metrics';
import { ProtobufTraceExporter } from './protobuf-trace-exporter';
import type { Targets } from './targets';
import { Traces } from './traces';

const SCOPE = 'switchboard';
/** Maximum time for delivering the rest when the service stops. */
const FLUSH_TIMEOUT_MS = 2_000;

export interface RunningTelemetry {
  readonly traces: Traces | null;
  readonly models: ModelMetrics | null;
  readonly stop: () => Promise<void>;
}

interface TelemetryDependencies {
  readonly settings: Settings;
  readonly version: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * Starts the SDK. Only this file and its own imports load packages of OpenTelemetry beyond its interface, and this file
 * is imported only if something is sent.
 */
export function startOpenTelemetry(targets: Targets, dependencies: TelemetryDependencies): RunningTelemetry {
  const resource = resourceOf(dependencies);
  const processor = targets.traces === null ? null : processorFor(targets.traces, dependencies);
  const models = targets.metrics === null ? null : new ModelMetrics(conventionsOf(dependencies.settings));
  const meters =
    targets.metrics === null || models === null
      ? null
      : meterProvider(targets.metrics, resource, models, dependencies);
  const stop = async (): Promise<void> => {
    const ended = Promise.allSettled([processor?.shutdown(), meters?.shutdown()]);
    await Promise.race([ended, delay(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
  };
  return {
    traces:
      processor &&
      new Traces({
        sampler: samplerOf(dependencies.settings),
        ids: new RandomIdGenerator(),
        processor,
        propagator: new W3CTraceContextPropagator(),
        resource,
        scope: { name: SCOPE, version: dependencies.version },
      }),
    models,
    stop,
  };
}

function processorFor(url: string, { settings, metrics, logger }: TelemetryDependencies): BatchSpanProcessor {
  const options = exporterOptions(url, settings.otlpTracesHeaders, settings);
  const exporter: SpanExporter =
    settings.otlpProtocol === 'http/json'
      ? new JsonTraceExporter(options)
      : new ProtobufTraceExporter(options);
  return new BatchSpanProcessor({
    exporter: new DeliveryWatch('traces', url, metrics, logger).observe(exporter),
    maxQueueSize: settings.otelSpanQueue,
    maxExportBatchSize: settings.otelSpanBatch,
    scheduledDelayMillis: settings.otelSpanDelayMs,
    exportTimeoutMillis: settings.otelSpanTimeoutMs,
    selfObsMeterProvider: spanCounts(metrics),
  });
}

function meterProvider(
  url: string,
  resource: Resource,
  models: ModelMetrics,
  { settings, metrics, logger }: TelemetryDependencies,
): MeterProvider {
  const options = exporterOptions(url, settings.otlpMetricsHeaders, settings);
  const exporter =
    settings.otlpProtocol === 'http/json' ? new JsonMetricExporter(options) : new OTLPMetricExporter(options);
  const isDelta = settings.otlpTemporality !== 'cumulative';
  const reader = new PeriodicExportingMetricReader({
    exporter: new DeliveryWatch('metrics', url, metrics, logger).observe(exporter),
    exportIntervalMillis: settings.otelMetricIntervalMs,
    exportTimeoutMillis: Math.min(settings.otelMetricTimeoutMs, settings.otelMetricIntervalMs),
    metricProducers: [new MetricBridge(SCOPE, models.cells, metrics, isDelta)],
  });
  return new MeterProvider({ resource, readers: [reader] });
}

/** Everything that the packages would otherwise read from the environment is passed, so that the settings decide. */
function exporterOptions(url: string, headers: Readonly<Record<string, string>>, settings: Settings) {
  const { otlpCertificate: ca, otlpClientCertificate: cert, otlpClientKey: key, egressCa } = settings;
  const agentOptions = {
    keepAlive: true,
    ...(egressCa !== undefined && { ca: [...getCACertificates('default'), egressCa] }),
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  };
  const agent = proxyAgent(new URL(url), settings, agentOptions);
  return {
    url,
    headers: { ...settings.otlpHeaders, ...headers },
    timeoutMillis: settings.otlpTimeoutMs,
    // The package declares an enumeration.
    compression: settings.otlpCompression as never,
    userAgent: 'Switchboard',
    httpAgentOptions: agent === null ? agentOptions : () => agent,
  };
}

function samplerOf({ otelSampler, otelSamplerShare }: Settings): Sampler {
  const [, parent, rule] = /^(parentbased_)?(.+)$/.exec(otelSampler) ?? [];
  const root =
    rule === 'always_on'
      ? new AlwaysOnSampler()
      : rule === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(otelSamplerShare);
  return parent === undefined ? root : new ParentBasedSampler({ root });
}

/** A service name among the attributes applies if no other is set. */
function resourceOf({ settings, version }: TelemetryDependencies): Resource {
  const { otelServiceName, otelResourceAttributes } = settings;
  const ownResource = resourceFromAttributes({
    'service.name': 'switchboard',
    'service.version': version,
    'service.instance.id': randomUUID(),
    ...otelResourceAttributes,
    ...(otelServiceName !== undefined && { 'service.name': otelServiceName }),
  });
  return defaultResource().merge(ownResource);
}
