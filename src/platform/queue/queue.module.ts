import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { DefaultJobOptions } from 'bullmq';
import { Settings } from '../config';
import { applicationUrl } from '../database';
import { Logger } from '../logging';
import { QueueConnection } from './queue-connection';
import { QueueSupervisor } from './queue-supervisor';

export interface QueueModuleOptions {
  /** The migrated database that keeps jobs if there is no Redis. */
  readonly databaseUrl: string;
  /** Settles once the database is migrated; undefined if it is already. */
  readonly databaseCurrent?: Promise<void>;
  /** Connections that queues and workers share; every worker keeps one for itself. */
  readonly poolSize?: number;
}

const day = 24 * 60 * 60;

const defaultJobOptions: DefaultJobOptions = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
  removeOnComplete: { age: day, count: 1_000 },
  removeOnFail: { age: 30 * day, count: 10_000 },
};

@Module({})
class QueueConnectionModule {}

@Module({})
export class QueueModule {
  /** Workers start when QueueSupervisor.startWorkers is called, not with the application. */
  static forRoot({ databaseUrl, databaseCurrent, poolSize = 16 }: QueueModuleOptions): DynamicModule {
    const connection = {
      provide: QueueConnection,
      inject: [Settings, Logger],
      useFactory: async ({ redisUrl }: Settings, logger: Logger) => {
        if (redisUrl) return QueueConnection.toRedis(redisUrl);
        await databaseCurrent;
        return QueueConnection.toPostgres(applicationUrl(databaseUrl), poolSize, logger);
      },
    };
    return {
      module: QueueModule,
      global: true,
      imports: [
        DiscoveryModule,
        { module: QueueConnectionModule, global: true, providers: [connection], exports: [connection] },
        BullModule.forRootAsync({
          inject: [QueueConnection],
          useFactory: (shared: QueueConnection) => ({ connection: shared.connection, defaultJobOptions }),
          extraOptions: { manualRegistration: true },
        }),
      ],
      providers: [QueueSupervisor],
      exports: [QueueSupervisor],
    };
  }

  /** Makes a queue injectable, by `@InjectQueue(name)`, in the module that imports this. */
  static registerQueue(name: string): DynamicModule {
    return BullModule.registerQueue({ name });
  }
}
