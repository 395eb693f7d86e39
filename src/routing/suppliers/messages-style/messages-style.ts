import { isAnthropicApi } from '../../../catalogue';
import { dialects } from '../../../protocol';
import {
  authorisation,
  type BodyEdits,
  endpoint,
  jsonBody,
  type Operations,
  type OutgoingCall,
  passing,
  picturesOf,
  prepared,
  type SupplierStyle,
} from '../kit';

const DEFAULT_VERSION = '2023-06-01';
/** https://docs.claude.com/en/api/models-list: 20 unless said, 1,000 at most. */
const MOST_MODELS_A_PAGE = '1000';

export const messagesOperations: Operations = {
  chat: 'messages',
  messages: 'messages',
  responses: 'messages',
  count_tokens: 'messages',
};

/** A count of tokens is refused for these, though callers send the whole request. */
const notCounted = [
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p',
];

export const messagesStyle: SupplierStyle = {
  name: 'messages-style',
  credential: 'header',
  needsCredential: ({ settings }) => settings.anonymous !== true,
  operations: () => messagesOperations,
  // Anthropic's own API refuses unknown fields; other services of this dialect ignore them.
  fields: (provider) => ({ validates: isAnthropicApi(provider), own: () => [] }),
  target: ({ provider, upstreamModel, facts }) => ({
    model: upstreamModel,
    facts,
    cacheMark: isAnthropicApi(provider),
  }),
  pictures: ({ facts }) => picturesOf('anthropic', facts),
  prepare: prepareMessages,
  modelList: (provider, credential) => {
    const url = new URL(endpoint(provider, '/v1', '/models'));
    url.searchParams.set('limit', MOST_MODELS_A_PAGE);
    const headers = { 'anthropic-version': DEFAULT_VERSION, ...authorisation(credential, 'x-api-key') };
    return { url, headers };
  },
  readError: dialects.messages.readError,
};

/**
 * It serves thinking that is bound to its conversation (typings of @anthropic-ai/sdk 1.14.0, read on 26 November 2026).
 */
const BLOCK_BINDING = 'thinking-binding-controls-2026-08-01';

/** The caller's betas, and that of a field which was put in here; undefined where there are none. */
export function betasOf({ headers, body }: OutgoingCall): string | undefined {
  const named = passing(headers, ['anthropic-beta'])['anthropic-beta'];
  const thinking = body.kind === 'json' ? body.text.body.thinking : undefined;
  const isBound = typeof thinking === 'object' && thinking !== null && 'block_binding' in thinking;
  if (!isBound || named?.includes(BLOCK_BINDING)) return named;
  return named === undefined ? BLOCK_BINDING : `${named},${BLOCK_BINDING}`;
}

/** The caller's version and betas go on as they are; the specification calls the header `vendor-version`. */
export function prepareMessages(call: OutgoingCall): ReturnType<SupplierStyle['prepare']> {
  const betas = betasOf(call);
  const { 'vendor-version': version = DEFAULT_VERSION } = passing(call.headers, ['vendor-version']);
  const path = call.operation === 'count_tokens' ? '/messages/count_tokens' : '/messages';
  const body = jsonBody(call, (edits) => {
    editMessages(edits, call);
    edits.dropOwnLabels();
    if (!isAnthropicApi(call.lane.provider)) edits.dropSteeringLabels();
  });
  return prepared(call, endpoint(call.lane.provider, '/v1', path), body, {
    'anthropic-version': version,
    ...passing(call.headers, ['anthropic-version']),
    ...(betas !== undefined && { 'anthropic-beta': betas }),
    ...authorisation(call.credential, 'x-api-key'),
  });
}

export function editMessages(edits: BodyEdits, { operation, lane, maxOutputTokens }: OutgoingCall): void {
  edits.set.model = lane.upstreamModel;
  if (operation === 'count_tokens') for (const name of notCounted) edits.remove.add(name);
  else if (maxOutputTokens !== undefined) edits.set.max_tokens = maxOutputTokens;
}
