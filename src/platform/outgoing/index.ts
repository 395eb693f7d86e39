export { type OutgoingBounds, OutgoingClient } from './outgoing-client';
export { outgoingClient, OutgoingModule } from './outgoing.module';
export { webhookHeaders } from './webhook-signature';
