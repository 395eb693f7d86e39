import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { SupplierClient } from './suppliers/supplier-client';

@Module({ imports: [CatalogueModule], providers: [SupplierClient], exports: [CatalogueModule, SupplierClient] })
export class RoutingModule {}
