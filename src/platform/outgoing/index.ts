export { type OutgoingBounds, OutgoingClient } from './outgoing-client';
export { webhookHeaders } from './webhook-signature';
export { extensionsClient, outgoingClient, OutgoingModule } from './outgoing.module';
