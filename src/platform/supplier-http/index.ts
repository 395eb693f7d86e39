export { AddressGuard, AddressRefused, type Resolver } from './address-guard';
export { BrokenAnswer, SupplierDeadline } from './errors';
export { SupplierHttpModule } from './supplier-http.module';
export {
  type RequestMethod,
  type SupplierCall,
  type SupplierHandler,
  type SupplierRequest,
  SupplierTransport,
} from './supplier-transport';
export { WireTransport } from './wire-transport';
