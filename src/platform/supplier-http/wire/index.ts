export { type ConnectDestination, connectorTo, openTo, attachReader, secureConnectorTo } from './connect';
export { type Carrier, Connection, type ConnectionOwner } from './connection';
export { ConnectionPool } from './connection-pool';
export { requestHead } from './request-head';
export { WireCall } from './wire-call';
