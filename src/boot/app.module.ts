import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { parseJsonText } from '../kernel';
import { alertEntities, AlertsModule } from '../alerts';
import { AuditModule } from '../audit';
import { AutorouterModule } from '../autorouter';
import { BackupModule } from '../backup';
import { BillingModule } from '../billing';
import { catalogueEntities, CatalogueModule } from '../catalogue';
import { type Extensions, ExtensionsModule } from '../extensions';
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
  servesPortal,
  Settings,
  TelemetryModule,
} from '../platform';
import { QualityModule } from '../quality';
import { QuarantineModule } from '../quarantine';
import { projectFolder } from '../views';
import { extensionModules, WebModule } from '../web';

export const { version: productVersion } = parseJsonText(
  readFileSync(join(projectFolder, 'package.json'), 'utf8'),
) as {
  version: string;
};

/** Set by the bundler; undefined when run from source. */
declare const BUILD_COMMIT: string | undefined;

export const entities = [...identityEntities, ...catalogueEntities, ...keyEntities, ...alertEntities];

export interface AppOptions {
  readonly databaseUrl: string;
  /** Settles when the migrations are done; left out if they are done already. */
  readonly databaseCurrent?: Promise<void>;
  readonly extensions: Extensions;
  /**
   * Modules added by the start or a test: controllers, providers, repeating jobs. They are allowed to import every
   * module through its index.
   */
  readonly extraModules?: readonly (Type | DynamicModule)[];
}

/** The composition root: the only file that imports every module. */
@Module({})
export class AppModule {
  static async forRoot(
    settings: Settings,
    logger: Logger,
    adapter: LeanAdapter,
    options: AppOptions,
  ): Promise<DynamicModule> {
    const adapterProvider = { provide: LeanAdapter, useValue: adapter };
    return {
      module: AppModule,
      global: true,
      imports: [
        ConfigModule.forRoot(settings),
        LoggingModule.forRoot(logger),
        ExtensionsModule.forRoot(options.extensions),
        MetricsModule.forRoot({
          version: productVersion,
          commit: typeof BUILD_COMMIT === 'string' ? BUILD_COMMIT : 'unknown',
        }),
        TelemetryModule.forRoot(productVersion),
        DatabaseModule.forRoot({ url: options.databaseUrl, current: options.databaseCurrent, entities }),
        QueueModule.forRoot({
          databaseUrl: options.databaseUrl,
          databaseCurrent: options.databaseCurrent,
        }),
        RepeatingJobsModule,
        MailModule.forRoot(),
        AuditModule,
        IdentityModule,
        CatalogueModule,
        BillingModule,
        BackupModule,
        KeysModule,
        WebModule,
        GatewayModule,
        AutorouterModule,
        QualityModule,
        QuarantineModule,
        AlertsModule,
        ...(await portalModules(settings)),
        ...extensionModules(options.extensions),
        ...(options.extraModules ?? []),
      ],
      providers: [adapterProvider],
      exports: [adapterProvider],
    };
  }
}

/** Loads the portal's modules only if this node serves pages, so that gateway nodes load none of their code. */
async function portalModules(settings: Settings): Promise<(Type | DynamicModule)[]> {
  if (!servesPortal(settings)) return [];
  const [{ ChatModule }, { PortalModule }, { AdminModule }] = await Promise.all([
    import('../chat/index.js'),
    import('../portal/index.js'),
    import('../admin/index.js'),
  ]);
  return [ChatModule, PortalModule.forRoot(settings), AdminModule];
}
