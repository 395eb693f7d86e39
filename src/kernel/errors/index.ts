export { catalogue, isErrorCode, publicCatalogue, publicEntry } from './catalogue';
export type { ActionClass, CatalogueEntry, ErrorCode, ErrorType, PublicEntry } from './catalogue';
export { reachableCodes } from './reachable';
export { Fault, fault, validationFault, type FaultOptions, type Place, type ValidationIssue } from './fault';
export { fromUnknown } from './from-unknown';
export {
  gatewayError,
  portalStatusOf,
  renderGateway,
  renderMessages,
  renderPortal,
  renderPageModel,
  type ErrorPageModel,
  type Rendered,
} from './render';
export { underlyingCause } from './underlying-cause';
export { sseFault, type StreamSurface } from './render-sse';
