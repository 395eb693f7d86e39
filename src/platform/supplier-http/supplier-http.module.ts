import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../config';
import { AddressGuard } from './address-guard';
import { SupplierTransport } from './supplier-transport';
import { SelectingTransport } from './selecting-transport';

@Module({
  providers: [
    {
      provide: AddressGuard,
      inject: [Settings],
      useFactory: (settings: Settings) => new AddressGuard(settings.supplierAllow),
    },
    {
      provide: SupplierTransport,
      inject: [Settings, AddressGuard],
      useFactory: (settings: Settings, guard: AddressGuard) => new SelectingTransport(settings, guard),
    },
  ],
  exports: [AddressGuard, SupplierTransport],
})
export class SupplierHttpModule implements OnApplicationShutdown {
  constructor(private readonly transport: SupplierTransport) {}

  onApplicationShutdown(): void {
    this.transport.close();
  }
}
