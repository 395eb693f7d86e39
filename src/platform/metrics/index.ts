export type { Distribution, Sum } from './capped';
export { Metrics } from './metrics';
export { type Build, MetricsModule } from './metrics.module';
export { MetricsServer } from './metrics.server';
