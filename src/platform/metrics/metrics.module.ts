import { type DynamicModule, Module } from '@nestjs/common';
import { Metrics } from './metrics';
import { MetricsServer } from './metrics.server';

export interface Build {
  readonly version: string;
  readonly commit: string;
}

@Module({})
export class MetricsModule {
  /** `Metrics` is global; the composition root starts `MetricsServer`. */
  static forRoot(build: Build): DynamicModule {
    const metrics = new Metrics();
    metrics.buildInfo.set({ version: build.version, commit: build.commit }, 1);
    return {
      module: MetricsModule,
      global: true,
      providers: [{ provide: Metrics, useValue: metrics }, MetricsServer],
      exports: [Metrics, MetricsServer],
    };
  }
}
