export { isGatewayPath, isProbePath } from './gateway-path';
export { LeanAdapter } from './lean.adapter';
export { addHeader, addUncheckedHeader } from './lean-messages';
export { formTypeOf } from './form-type';
export { readBody } from './read-body';
export { RouteTable } from './route-table';
