import { dialects } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  type OutgoingCall,
  passing,
  picturesOf,
  prepared,
  type PreparedCall,
  type SupplierStyle,
} from '../kit';

/** Agents of the native dialect send these about themselves and their session; the supplier behind it asks for them. */
const passingHeaders = [
  'openai-beta',
  'originator',
  'version',
  'user-agent',
  'session_id',
  'session-id',
  'thread-id',
  'conversation_id',
  'x-codex-turn-state',
  'x-codex-turn-metadata',
];

export const nativeOauth: SupplierStyle = {
  name: 'native-oauth',
  credential: 'oauth-pool',
  needsCredential: () => true,
  operations: () => ({ native: 'responses' }),
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  pictures: ({ facts }) => picturesOf('openai', facts),
  prepare: (call) => prepareNative(call, ''),
  readError: dialects.responses.readError,
};

/**
 * Requests go on as they came. Bytes are touched only by another name of the model, and by what would steer
 * requests or is meant for this service.
 */
export function prepareNative(call: OutgoingCall, prefix: string): PreparedCall {
  const { lane, headers, credential } = call;
  const { account_header: header } = lane.provider.settings;
  const account = credential?.kind === 'oauth-pool' ? credential.account : undefined;
  const body = jsonBody(call, (edits) => {
    edits.set.model = lane.upstreamModel;
    edits.dropOwnLabels();
  });
  return prepared(call, endpoint(lane.provider, prefix, '/responses'), body, {
    ...passing(headers, passingHeaders),
    ...(typeof header === 'string' && account !== undefined ? { [header.toLowerCase()]: account } : {}),
    ...authorisation(credential, 'authorization'),
  });
}
