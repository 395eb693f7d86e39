import { type DynamicModule, Module } from '@nestjs/common';
import { Settings } from './settings';

@Module({})
export class ConfigModule {
  static forRoot(settings: Settings): DynamicModule {
    const provider = { provide: Settings, useValue: settings };
    return { module: ConfigModule, global: true, providers: [provider], exports: [provider] };
  }
}
