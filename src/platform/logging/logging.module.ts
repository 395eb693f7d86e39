import { type DynamicModule, Module } from '@nestjs/common';
import { Logger } from './logger';

@Module({})
export class LoggingModule {
  static forRoot(logger: Logger): DynamicModule {
    const provider = { provide: Logger, useValue: logger };
    return { module: LoggingModule, global: true, providers: [provider], exports: [provider] };
  }
}
