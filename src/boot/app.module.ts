import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { parseJsonText } from '../kernel';
import { AdminModule } from '../admin';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { catalogueEntities, CatalogueModule } from '../catalogue';
import { ChatModule } from '../chat';
import { GatewayModule } from '../gateway';
import { IdentityModule, identityEntities } from '../identity';
import { keyEntities, KeysModule } from '../keys';
import {
  ConfigModule,
  DatabaseModule,
  LeanAdapter,
  Logger,
  LoggingModule,
  MailModule,
  MetricsModule,
  QueueModule,
  RepeatingJobsModule,
  Settings,
} from '../platform';
import { PortalModule } from '../portal';
import { QualityModule } from '../quality';
import { projectFolder } from '../views';
import { WebModule } from '../web';

const { version } = parseJsonText(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
  version: string;
};

/** Everything that lives in a table of its own, for the data source and for the test against drift. */
export const entities = [...identityEntities, ...catalogueEntities, ...keyEntities];

export interface AppOptions {
  readonly databaseUrl: string;
  /** Settles once the database is up to date; without it, it is. */
  readonly databaseCurrent?: Promise<void>;
  /**
   * What the start, a test or an extension adds: controllers, providers, methods marked as repeating jobs. They may
   * import every module of the project through its index.
   */
  readonly extraModules?: readonly (Type | DynamicModule)[];
}

/** The composition root: the one file that knows every module. */
@Module({})
export class AppModule {
  static forRoot(
    settings: Settings,
    logger: Logger,
    adapter: LeanAdapter,
    options: AppOptions,
  ): DynamicModule {
    const adapterProvider = { provide: LeanAdapter, useValue: adapter };
    return {
      module: AppModule,
      global: true,
      imports: [
        ConfigModule.forRoot(settings),
        LoggingModule.forRoot(logger),
        MetricsModule.forRoot({ version, commit: 'unknown' }),
        DatabaseModule.forRoot({ url: options.databaseUrl, current: options.databaseCurrent, entities }),
        QueueModule.forRoot({
          databaseUrl: options.databaseUrl,
          databaseCurrent: options.databaseCurrent,
          workersWait: true,
        }),
        RepeatingJobsModule,
        MailModule.forRoot(),
        AuditModule,
        IdentityModule,
        CatalogueModule,
        BillingModule,
        KeysModule,
        WebModule,
        GatewayModule,
        ChatModule,
        QualityModule,
        PortalModule.forRoot(settings),
        AdminModule,
        ...(options.extraModules ?? []),
      ],
      providers: [adapterProvider],
      exports: [adapterProvider],
    };
  }
}
