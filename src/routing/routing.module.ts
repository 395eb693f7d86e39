import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { CatalogueModule } from '../catalogue';
import { Extensions } from '../extensions';
import { Logger, SecretsModule, SupplierHttpModule } from '../platform';
import { CredentialAlarm } from './credential-alarm';
import { LaneEvents } from './health/lane-events';
import { LaneHealth } from './health/lane-health';
import { ModelLists } from './vendor-models/model-lists';
import { LaneProber } from './probe/lane-prober';
import { SupplierProbe } from './probe/supplier-probe';
import { Stickiness } from './stickiness';
import { TokenPool } from './suppliers/native-oauth/token-pool';
import { SupplierStyles } from './suppliers/registry';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [AuditModule, CatalogueModule, SecretsModule, SupplierHttpModule],
  providers: [
    CredentialAlarm,
    LaneEvents,
    LaneHealth,
    Stickiness,
    {
      provide: SupplierStyles,
      inject: [Extensions, Logger],
      useFactory: ({ suppliers }: Extensions, logger: Logger) =>
        new SupplierStyles(suppliers, (style, method, said) =>
          logger.warn('a style of suppliers failed', { style, method, said }),
        ),
    },
    TokenPool,
    SupplierClient,
    SupplierProbe,
    LaneProber,
    ModelLists,
  ],
  exports: [
    CatalogueModule,
    SupplierHttpModule,
    CredentialAlarm,
    LaneHealth,
    Stickiness,
    SupplierStyles,
    SupplierClient,
    SupplierProbe,
    LaneProber,
    ModelLists,
  ],
})
export class RoutingModule {}
