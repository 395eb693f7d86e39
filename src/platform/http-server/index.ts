export { isGatewayPath, isProbePath, servedPaths } from './gateway-path';
export { LeanAdapter } from './lean.adapter';
export { addHeader, addUncheckedHeader } from './lean-messages';
export { assertPortsFree } from './ports';
export { formTypeOf } from './form-type';
export { readBody } from './read-body';
export { RouteTable } from './route-table';
