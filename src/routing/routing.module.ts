import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { SupplierHttpModule } from '../platform';
import { LaneHealth } from './health/lane-health';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [CatalogueModule, SupplierHttpModule],
  providers: [LaneHealth, SupplierClient],
  exports: [CatalogueModule, SupplierHttpModule, LaneHealth, SupplierClient],
})
export class RoutingModule {}
