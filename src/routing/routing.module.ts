import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { LaneHealth } from './health/lane-health';
import { SupplierClient } from './suppliers/supplier-client';

@Module({
  imports: [CatalogueModule],
  providers: [LaneHealth, SupplierClient],
  exports: [CatalogueModule, LaneHealth, SupplierClient],
})
export class RoutingModule {}
