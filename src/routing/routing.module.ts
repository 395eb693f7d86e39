import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { CatalogueModule } from '../catalogue';
import { SecretsModule, SupplierHttpModule } from '../platform';
import { AutoLearner } from './auto/auto-learner';
import { AutoPolicies } from './auto/auto-policies';
import { AutoSalts } from './auto/auto-salts';
import { AutoSessions } from './auto/auto-sessions';
import { AutoSettingsStore } from './auto/auto-settings.store';
import { AutoStates } from './auto/auto-states';
import { StateUpkeep } from './auto/state-upkeep';
import { AutoRouter } from './auto-router';
import { CredentialAlarm } from './credential-alarm';
import { LaneEvents } from './health/lane-events';
import { LaneHealth } from './health/lane-health';
import { ModelLists } from './vendor-models/model-lists';
import { SupplierProbe } from './probe/supplier-probe';
import { Stickiness } from './stickiness';
import { TokenPool } from './suppliers/native-oauth/token-pool';
import { SupplierStyles } from './suppliers/registry';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [AuditModule, CatalogueModule, SecretsModule, SupplierHttpModule],
  providers: [
    AutoLearner,
    AutoPolicies,
    AutoRouter,
    AutoSalts,
    AutoSessions,
    AutoSettingsStore,
    AutoStates,
    CredentialAlarm,
    LaneEvents,
    LaneHealth,
    Stickiness,
    SupplierStyles,
    TokenPool,
    SupplierClient,
    StateUpkeep,
    SupplierProbe,
    ModelLists,
  ],
  exports: [
    CatalogueModule,
    SupplierHttpModule,
    AutoLearner,
    AutoPolicies,
    AutoRouter,
    AutoSalts,
    AutoSessions,
    AutoSettingsStore,
    AutoStates,
    CredentialAlarm,
    LaneHealth,
    Stickiness,
    SupplierStyles,
    SupplierClient,
    SupplierProbe,
    ModelLists,
  ],
})
export class RoutingModule {}
