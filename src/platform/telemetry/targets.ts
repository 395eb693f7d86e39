import type { Settings } from '../config';

/** Where traces and metrics are sent; null: nowhere. */
export interface Targets {
  readonly traces: string | null;
  readonly metrics: string | null;
}

export function targetsOf(settings: Settings): Targets | null {
  if (settings.otelDisabled) return null;
  const target = (of: 'otlp' | 'none', own: string | undefined, path: string): string | null =>
    of === 'none' ? null : (own ?? below(settings.otlpEndpoint, path));
  const targets = {
    traces: target(settings.otelTracesExporter, settings.otlpTracesEndpoint, 'v1/traces'),
    metrics: target(settings.otelMetricsExporter, settings.otlpMetricsEndpoint, 'v1/metrics'),
  };
  return targets.traces === null && targets.metrics === null ? null : targets;
}

const below = (base: string | undefined, path: string): string | null =>
  base === undefined ? null : `${base.replace(/\/$/, '')}/${path}`;
