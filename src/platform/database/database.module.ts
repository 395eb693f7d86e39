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
  /** Passed in, since the settings do not contain the URL of the embedded server. */
  url: string;
  /** Settles once the database is up to date; defaults to a settled promise. */
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
            // The database is up to date by then: retrying would not help, and the start reports the error.
            toRetry: () => false,
          }),
          dataSourceFactory: (options) =>
            connectEarly(
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
            connectEarly(
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
 * Most databases are up to date, so connections are opened early and in parallel. Those that failed because it was too
 * early are opened again.
 */
async function connectEarly<Connected>(
  current: Promise<void>,
  connect: () => Promise<Connected>,
  close: (connection: Connected) => Promise<void>,
): Promise<Connected> {
  const connecting = connect().catch(() => null);
  try {
    await current;
  } catch (error) {
    await connecting.then((connection) => connection && close(connection));
    throw error;
  }
  return (await connecting) ?? connect();
}
