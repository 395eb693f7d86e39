import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Settings } from '../config';
import { type Entity, serviceDataSourceOptions } from './data-source';
import { Database } from './database';
import { Notifications } from './notifications';

interface DatabaseModuleOptions {
  /** Settings cannot know the address of the embedded server, so the one that is used comes from outside. */
  url: string | Promise<string>;
  entities: readonly Entity[];
}

@Module({})
export class DatabaseModule {
  static forRoot({ url, entities }: DatabaseModuleOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Settings],
          useFactory: async (settings: Settings) => ({
            ...serviceDataSourceOptions({ url: await url, entities, poolSize: settings.databasePoolSize }),
            // The database was migrated a moment ago: what fails now is not cured by waiting.
            retryAttempts: 1,
          }),
        }),
      ],
      providers: [
        Database,
        {
          provide: Notifications,
          useFactory: async () => {
            const notifications = new Notifications({ url: await url });
            await notifications.start();
            return notifications;
          },
        },
      ],
      exports: [TypeOrmModule, Database, Notifications],
    };
  }
}
