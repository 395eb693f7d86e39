export { ConnectionPool } from './connection-pool';
export { requestHead } from './request-head';
export { WireCall } from './wire-call';
