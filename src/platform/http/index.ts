export { type ConnectionTimes, type IdentifiedRequest, LeanAdapter } from './lean.adapter';
export { readBody } from './read-body';
export { RouteTable } from './route-table';
