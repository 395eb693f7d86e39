import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { SupplierHttpModule } from '../platform';
import { LaneHealth } from './health/lane-health';
import { Stickiness } from './stickiness';
import { TokenPool } from './suppliers/native-oauth/token-pool';
import { SupplierStyles } from './suppliers/registry';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [CatalogueModule, SupplierHttpModule],
  providers: [LaneHealth, Stickiness, SupplierStyles, TokenPool, SupplierClient],
  exports: [CatalogueModule, SupplierHttpModule, LaneHealth, Stickiness, SupplierStyles, SupplierClient],
})
export class RoutingModule {}
