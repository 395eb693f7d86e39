import { type DynamicModule, Module } from '@nestjs/common';
import { ExtensionJobs } from './extension-jobs';
import { Extensions } from './extensions';
import { HostPorts } from './host-ports';

@Module({})
export class ExtensionsModule {
  static forRoot(extensions: Extensions): DynamicModule {
    const provider = { provide: Extensions, useValue: extensions };
    return {
      module: ExtensionsModule,
      global: true,
      providers: [provider, HostPorts, ExtensionJobs],
      exports: [provider],
    };
  }
}
