import 'reflect-metadata';
import type { Provider } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CommandsModule } from '../../../src/commands/commands.module';
import { loadSettings } from '../../../src/platform';

const START_HOOKS = ['onModuleInit', 'onApplicationBootstrap'];

const startsWithApplication = (provider: Provider): boolean =>
  typeof provider === 'function' && START_HOOKS.some((hook) => hook in provider.prototype);

test('CommandsModule provides no service that starts with the application', () => {
  const { providers = [] } = CommandsModule.forRoot({
    settings: loadSettings({ SESSION_SECRET: 'a', KEY_PEPPER: 'b', MASTER_KEY: 'c' }),
    source: new DataSource({ type: 'postgres' }),
    writeStderr: () => undefined,
  });
  expect(providers.filter(startsWithApplication)).toEqual([]);
});
