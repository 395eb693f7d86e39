import { type DynamicModule, Module, Scope } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { AlertChannels, AlertClient } from '../alerts';
import { ActivityLog, AuditChain, ChainBreaks, DeadLetters, RequestRecordQuery } from '../audit';
import { AutoLearner, AutoSalts } from '../autorouter';
import { entities } from '../boot/app.module';
import { BudgetRaises, Ledger, Limits } from '../billing';
import {
  CatalogueEditor,
  CredentialEditor,
  CredentialKeeper,
  GatewayFilePlanner,
  ModelDetailService,
  PriceListPlanner,
  PriceService,
} from '../catalogue';
import { AccountTokens, PayerService, PendingSteps } from '../identity';
import { KeyActivity, KeyRegister, KeysService } from '../keys';
import {
  ConfigModule,
  Database,
  Logger,
  LoggingModule,
  Notifications,
  SecretsModule,
  Settings,
} from '../platform';
import { QuarantineStore } from '../quarantine';
import type { CliContext } from './command';
import { DemoSeeder } from './demo/demo-seeder';
import { FileKeys } from './file-keys';
import { RerateCorrections } from './rerate-corrections';

interface CommandsModuleOptions {
  readonly settings: Settings;
  /** Connected by the caller, because Nest logs the error of a failed provider with its stack. */
  readonly source: DataSource;
  readonly writeStderr: CliContext['writeStderr'];
}

/**
 * Services that commands use. The modules of the service are not imported, because they start jobs, listeners and
 * connections.
 */
@Module({})
export class CommandsModule {
  static forRoot({ settings, source, writeStderr }: CommandsModuleOptions): DynamicModule {
    return {
      module: CommandsModule,
      global: true,
      imports: [
        ConfigModule.forRoot(settings),
        LoggingModule.forRoot(Logger.create(settings, { write: writeStderr })),
        SecretsModule,
        TypeOrmModule.forFeature(entities),
      ],
      providers: [
        { provide: DataSource, useValue: source },
        Database,
        AccountTokens,
        ActivityLog,
        AlertChannels,
        AlertClient,
        // Resolved by the command that needs it, so that its hooks do not start the sealing timer.
        { provide: AuditChain, useClass: AuditChain, scope: Scope.TRANSIENT },
        AutoLearner,
        AutoSalts,
        BudgetRaises,
        CatalogueEditor,
        ChainBreaks,
        CredentialEditor,
        CredentialKeeper,
        DeadLetters,
        DemoSeeder,
        FileKeys,
        GatewayFilePlanner,
        KeyActivity,
        KeyRegister,
        KeysService,
        Ledger,
        Limits,
        ModelDetailService,
        // Not started: commands announce changes in their transactions and do not listen.
        { provide: Notifications, useFactory: () => new Notifications({ url: '' }) },
        PayerService,
        PendingSteps,
        PriceListPlanner,
        PriceService,
        QuarantineStore,
        RequestRecordQuery,
        RerateCorrections,
      ],
      exports: [DataSource],
    };
  }
}
