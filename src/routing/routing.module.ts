import { Module } from '@nestjs/common';
import { RouteDirectory } from './route-directory';
import { SupplierClient } from './suppliers/supplier-client';

@Module({ providers: [RouteDirectory, SupplierClient], exports: [RouteDirectory, SupplierClient] })
export class RoutingModule {}
