export { ATTRIBUTE, type Conventions, conventionsOf } from './conventions';
export { type CallKind, type CallSeries, ModelMetrics } from './model-metrics';
export { Telemetry } from './telemetry';
export { TelemetryModule } from './telemetry.module';
export type { OpenSpan, SpanAttributes } from './open-span';
