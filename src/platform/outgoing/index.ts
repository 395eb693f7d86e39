export {
  type OpenedResponse,
  type OutgoingResponse,
  type OutgoingBounds,
  OutgoingClient,
  type OutgoingRequest,
} from './outgoing-client';
export { uriEncode, signRequest } from './signature-v4';
export { webhookHeaders } from './webhook-signature';
export { extensionsClient, outgoingClient, OutgoingModule } from './outgoing.module';
