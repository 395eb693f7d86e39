import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Settings } from '../config';
import { DataSource } from 'typeorm';
import { type Entity, serviceDataSourceOptions } from './data-source';
import { ClockWatch } from './clock-watch';
import { Database } from './database';
import { DatabaseGauges } from './database-gauges';
import { Notifications } from './notifications';
import { OwnWrites } from './own-writes';
import { QuarantineState } from './quarantine-state';

interface DatabaseModuleOptions {
  /** Settings cannot know the address of the embedded server, so the one that is used comes from outside. */
  url: string;
  /** Settles once the database is up to date; without it, it is. */
  current?: Promise<void>;
  entities: readonly Entity[];
}

@Module({})
export class DatabaseModule {
  static forRoot({ url, entities, current = Promise.resolve() }: DatabaseModuleOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Settings],
          useFactory: (settings: Settings) => ({
            ...serviceDataSourceOptions({ url, entities, poolSize: settings.databasePoolSize }),
            // The database is up to date by then: what fails is not cured by waiting, and is told by the start.
            toRetry: () => false,
          }),
          dataSourceFactory: (options) =>
            early(
              current,
              () => new DataSource(options!).initialize(),
              (source) => source.destroy(),
            ),
        }),
      ],
      providers: [
        Database,
        ClockWatch,
        DatabaseGauges,
        OwnWrites,
        {
          provide: QuarantineState,
          inject: [Database],
          useFactory: (database: Database) => QuarantineState.read(database),
        },
        {
          provide: Notifications,
          useFactory: () =>
            early(
              current,
              async () => {
                const notifications = new Notifications({ url });
                await notifications.start();
                return notifications;
              },
              (notifications) => notifications.onApplicationShutdown(),
            ),
        },
      ],
      exports: [TypeOrmModule, Database, ClockWatch, Notifications, OwnWrites, QuarantineState],
    };
  }
}

/**
 * Most databases are up to date, so connections are tried at once, and the start need not wait for one connection
 * after the other. Where it was too early for that, it is done again.
 */
async function early<Connected>(
  current: Promise<void>,
  connect: () => Promise<Connected>,
  close: (connected: Connected) => Promise<void>,
): Promise<Connected> {
  const connecting = connect().catch(() => null);
  try {
    await current;
  } catch (error) {
    await connecting.then((connected) => connected && close(connected));
    throw error;
  }
  return (await connecting) ?? connect();
}
