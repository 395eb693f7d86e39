export { AddressGuard, AddressRefused, type Resolver } from './address-guard';
export { SelectingTransport } from './selecting-transport';
export { BrokenAnswer, ProxyFailed, SupplierDeadline } from './errors';
export { NoProxy } from './egress/no-proxy';
export { proxyAgent } from './egress/proxy-agent';
export { SupplierHttpModule } from './supplier-http.module';
export {
  type ClientIdentity,
  type EgressTerms,
  type RequestMethod,
  type SupplierCall,
  type SupplierHandler,
  type SupplierRequest,
  SupplierTransport,
} from './supplier-transport';
export { WireTransport } from './wire-transport';
