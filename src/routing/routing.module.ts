import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { CatalogueModule } from '../catalogue';
import { SupplierHttpModule } from '../platform';
import { AutoPolicies } from './auto/auto-policies';
import { AutoSettingsStore } from './auto/auto-settings.store';
import { AutoRouter } from './auto-router';
import { CredentialAlarm } from './credential-alarm';
import { LaneEvents } from './health/lane-events';
import { LaneHealth } from './health/lane-health';
import { SupplierProbe } from './probe/supplier-probe';
import { Stickiness } from './stickiness';
import { TokenPool } from './suppliers/native-oauth/token-pool';
import { SupplierStyles } from './suppliers/registry';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [AuditModule, CatalogueModule, SupplierHttpModule],
  providers: [
    AutoPolicies,
    AutoRouter,
    AutoSettingsStore,
    CredentialAlarm,
    LaneEvents,
    LaneHealth,
    Stickiness,
    SupplierStyles,
    TokenPool,
    SupplierClient,
    SupplierProbe,
  ],
  exports: [
    CatalogueModule,
    SupplierHttpModule,
    AutoPolicies,
    AutoRouter,
    AutoSettingsStore,
    CredentialAlarm,
    LaneHealth,
    Stickiness,
    SupplierStyles,
    SupplierClient,
    SupplierProbe,
  ],
})
export class RoutingModule {}
