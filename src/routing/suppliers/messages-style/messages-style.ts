import { isAnthropicApi } from '../../../catalogue';
import { dialects } from '../../../protocol';
import {
  authorisation,
  type BodyEdits,
  endpoint,
  jsonBody,
  type Operations,
  type StyleCall,
  forwardedHeaders,
  picturesOf,
  prepareCall,
  type CoreStyle,
} from '../kit';

const DEFAULT_VERSION = '2023-06-01';
/** https://docs.claude.com/en/api/models-list: default 20, maximum 1,000. */
const MODELS_PER_PAGE = '1000';

export const messagesOperations: Operations = {
  chat: 'messages',
  messages: 'messages',
  responses: 'messages',
  count_tokens: 'messages',
};

/** Fields that token counting refuses, although callers send the complete request. */
const notCountedFields = [
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p',
];

export const messagesStyle: CoreStyle = {
  name: 'messages-style',
  credential: 'header',
  needsCredential: ({ settings }) => settings.anonymous !== true,
  operations: () => messagesOperations,
  // Anthropic's own API refuses unknown fields; other suppliers of this dialect ignore them.
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
    url.searchParams.set('limit', MODELS_PER_PAGE);
    const headers = { 'anthropic-version': DEFAULT_VERSION, ...authorisation(credential, 'x-api-key') };
    return { url, headers };
  },
  readError: dialects.messages.readError,
};

/**
 * Beta of thinking that is bound to its conversation (typings of @anthropic-ai/sdk 1.14.0, read on 26 November 2026).
 */
const BLOCK_BINDING = 'thinking-binding-controls-2026-08-01';

export function betasOf({ headers, body }: StyleCall): string | undefined {
  const requested = forwardedHeaders(headers, ['anthropic-beta'])['anthropic-beta'];
  const thinking = body.kind === 'json' ? body.text.body.thinking : undefined;
  const isBound = typeof thinking === 'object' && thinking !== null && 'block_binding' in thinking;
  if (!isBound || requested?.includes(BLOCK_BINDING)) return requested;
  return requested === undefined ? BLOCK_BINDING : `${requested},${BLOCK_BINDING}`;
}

/** Forwards the caller's version and betas; the specification names the version header `vendor-version`. */
export function prepareMessages(call: StyleCall): ReturnType<CoreStyle['prepare']> {
  const betas = betasOf(call);
  const { 'vendor-version': version = DEFAULT_VERSION } = forwardedHeaders(call.headers, ['vendor-version']);
  const path = call.operation === 'count_tokens' ? '/messages/count_tokens' : '/messages';
  const body = jsonBody(call, (edits) => {
    editMessages(edits, call);
    edits.dropOwnLabels();
    if (!isAnthropicApi(call.lane.provider)) edits.dropSteeringLabels();
  });
  return prepareCall(call, endpoint(call.lane.provider, '/v1', path), body, {
    'anthropic-version': version,
    ...forwardedHeaders(call.headers, ['anthropic-version']),
    ...(betas !== undefined && { 'anthropic-beta': betas }),
    ...authorisation(call.credential, 'x-api-key'),
  });
}

export function editMessages(edits: BodyEdits, { operation, lane, maxOutputTokens }: StyleCall): void {
  edits.set.model = lane.upstreamModel;
  if (operation === 'count_tokens') for (const name of notCountedFields) edits.remove.add(name);
  else if (maxOutputTokens !== undefined) edits.set.max_tokens = maxOutputTokens;
}
