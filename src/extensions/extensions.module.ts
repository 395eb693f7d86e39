import { type DynamicModule, Module } from '@nestjs/common';
import { Extensions } from './extensions';

@Module({})
export class ExtensionsModule {
  static forRoot(extensions: Extensions): DynamicModule {
    const provider = { provide: Extensions, useValue: extensions };
    return { module: ExtensionsModule, global: true, providers: [provider], exports: [provider] };
  }
}
