import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../config';
import { AddressGuard } from './address-guard';
import { SupplierPools } from './supplier-pools';

@Module({
  providers: [
    {
      provide: AddressGuard,
      inject: [Settings],
      useFactory: (settings: Settings) => new AddressGuard(settings.supplierAllow),
    },
    {
      provide: SupplierPools,
      inject: [Settings, AddressGuard],
      useFactory: (settings: Settings, guard: AddressGuard) => new SupplierPools(settings, guard),
    },
  ],
  exports: [AddressGuard, SupplierPools],
})
export class SupplierHttpModule implements OnApplicationShutdown {
  constructor(private readonly pools: SupplierPools) {}

  onApplicationShutdown(): void {
    this.pools.close();
  }
}
