export { type Destination, connectorTo, openTo, readingFrom, secureConnectorTo } from './connect';
export { type Carrier, Connection, type Owner } from './connection';
export { ConnectionPool } from './connection-pool';
export { requestHead } from './request-head';
export { WireCall } from './wire-call';
