export { type ConnectionTimes, type IdentifiedRequest, LeanAdapter } from './lean.adapter';
export { addHeader, addOwnHeader } from './lean-messages';
export { readBody } from './read-body';
export { RouteTable } from './route-table';
export { AddressGuard, AddressRefused, type Resolver } from './address-guard';
export { SupplierHttpModule } from './supplier-http.module';
export { SupplierPools, type SupplierRequest } from './supplier-pools';
export {
  BrokenAnswer,
  SupplierClosed,
  type SupplierCall,
  SupplierDeadline,
  type SupplierHandler,
} from './wire';
