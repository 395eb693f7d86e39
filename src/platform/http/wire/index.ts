export { ConnectionPool } from './connection-pool';
export { BrokenAnswer, SupplierClosed, SupplierDeadline } from './errors';
export { requestHead } from './request-head';
export { type SupplierCall, type SupplierHandler, WireCall } from './wire-call';
