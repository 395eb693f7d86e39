export { isGatewayPath, isProbePath } from './gateway-path';
export { type ConnectionTimes, type IdentifiedRequest, LeanAdapter } from './lean.adapter';
export { addHeader, addUncheckedHeader } from './lean-messages';
export { type FormType, formTypeOf } from './form-type';
export { readBody } from './read-body';
export { RouteTable } from './route-table';
