import { type DynamicModule, Module } from '@nestjs/common';
import { Settings } from '../config';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { Telemetry } from './telemetry';

@Module({})
export class TelemetryModule {
  static forRoot(version: string): DynamicModule {
    return {
      module: TelemetryModule,
      global: true,
      providers: [
        {
          provide: Telemetry,
          inject: [Settings, Metrics, Logger],
          useFactory: (settings: Settings, metrics: Metrics, logger: Logger) =>
            Telemetry.start(settings, { version, metrics, logger }),
        },
      ],
      exports: [Telemetry],
    };
  }
}
