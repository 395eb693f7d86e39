import type { Settings } from '../config';

export interface Targets {
  readonly traces: string | null;
  readonly metrics: string | null;
}

export function targetsOf(settings: Settings): Targets | null {
  if (settings.otelDisabled) return null;
  const target = (exporter: 'otlp' | 'none', ownEndpoint: string | undefined, path: string): string | null =>
    exporter === 'none' ? null : (ownEndpoint ?? joinPath(settings.otlpEndpoint, path));
  const targets = {
    traces: target(settings.otelTracesExporter, settings.otlpTracesEndpoint, 'v1/traces'),
    metrics: target(settings.otelMetricsExporter, settings.otlpMetricsEndpoint, 'v1/metrics'),
  };
  return targets.traces === null && targets.metrics === null ? null : targets;
}

const joinPath = (base: string | undefined, path: string): string | null =>
  base === undefined ? null : `${base.replace(/\/$/, '')}/${path}`;
