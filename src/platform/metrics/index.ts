export { Distribution, type Sum } from './capped-metrics';
export { Metrics } from './metrics';
export { MetricsModule } from './metrics.module';
export { MetricsServer } from './metrics.server';
