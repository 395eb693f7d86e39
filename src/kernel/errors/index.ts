export { catalogue, isErrorCode, publicCatalogue, publicEntry } from './catalogue';
export type { ActionClass, ErrorCode } from './catalogue';
export { reachableCodes } from './reachable';
export {
  Fault,
  fault,
  missingFields,
  validationFault,
  type FaultInit,
  type ParameterLocation,
  type ValidationIssue,
} from './fault';
export { fromUnknown } from './from-unknown';
export {
  gatewayError,
  portalStatusOf,
  renderGateway,
  renderMessages,
  renderPortal,
  renderPageModel,
  type ErrorPageModel,
  type RenderedError,
} from './render';
export { thrownMessage } from './thrown-message';
export { underlyingCause } from './underlying-cause';
export { sseFault } from './render-sse';
