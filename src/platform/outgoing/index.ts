export {
  type OpenedAnswer,
  type OutgoingAnswer,
  type OutgoingBounds,
  OutgoingClient,
  type OutgoingRequest,
} from './outgoing-client';
export { encoded, signRequest } from './signature-v4';
export { webhookHeaders } from './webhook-signature';
export { extensionsClient, outgoingClient, OutgoingModule } from './outgoing.module';
