import { AudioMeter } from '../media/audio-meter';
import { CallGates } from './call-gates';
import { Intake } from './intake';
import { Lifecycle } from './lifecycle';
import { RequestGate } from './request-gate';

export { AUTO } from './auto';
export { callerOf } from './caller-of';
export type { AutoTrace, GatewayCall } from './describe';
export { NOTHING_UNKNOWN, unsupportedFieldError } from './field-names';
export { gateRequestOf } from './gate-request';
export type { Inbound } from './inbound';
export { Intake } from './intake';
export { StoredResponses } from './stored-responses';
export { Lifecycle } from './lifecycle';
export { readJsonBody } from './read-json-body';
export type { AdmittedRequest } from './request-gate';
export { adviceBounds } from './server-tools';
export { betasIn, withoutParts } from './unknown-parts';
export { conversationOf, stickyKey } from './session';
export { MAX_THINKING_TOKENS } from './thinking';
export type { RequestWork } from './work';

export const intakeStage = [AudioMeter, CallGates, Intake, Lifecycle, RequestGate];
