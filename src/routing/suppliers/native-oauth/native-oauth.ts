import { dialects } from '../../../protocol';
import {
  authorisation,
  endpoint,
  jsonBody,
  type StyleCall,
  forwardedHeaders,
  picturesOf,
  prepareCall,
  type PreparedStyleCall,
  type CoreStyle,
} from '../kit';

/** Headers with which native agents describe themselves and their session; the supplier requires them. */
const agentHeaders = [
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

export const nativeOauth: CoreStyle = {
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

/** Forwards requests unchanged, except for the model name, steering fields and labels for this gateway. */
export function prepareNative(call: StyleCall, prefix: string): PreparedStyleCall {
  const { lane, headers, credential } = call;
  const { account_header: header } = lane.provider.settings;
  const account = credential?.kind === 'oauth-pool' ? credential.account : undefined;
  const body = jsonBody(call, (edits) => {
    edits.set.model = lane.upstreamModel;
    edits.dropOwnLabels();
  });
  return prepareCall(call, endpoint(lane.provider, prefix, '/responses'), body, {
    ...forwardedHeaders(headers, agentHeaders),
    ...(typeof header === 'string' && account !== undefined ? { [header.toLowerCase()]: account } : {}),
    ...authorisation(credential, 'authorization'),
  });
}
