import type { BearerCredential } from '../../../catalogue';
import { dialects } from '../../../protocol';
import type { Operations, SupplierStyle } from '../kit';
import { messagesOperations, prepareMessages } from '../messages-style/messages-style';
import { prepareNative } from '../native-oauth/native-oauth';
import { prepareWith } from '../openai-style/openai-style';
import { operationsOf, profiles, type Profile } from '../openai-style/profiles';

/** The key the simulator expects; it guards nothing. */
const credential: BearerCredential = { kind: 'bearer', id: 'sandbox', token: 'sim-sandbox' };

const profile: Profile = {
  ...profiles.openai!,
  serves: [...profiles.generic!.serves, 'responses'],
  limitField: null,
};

const operations: Operations = {
  ...operationsOf(profile),
  messages: messagesOperations.messages,
  count_tokens: messagesOperations.count_tokens,
  native: 'responses',
};

/** The built-in simulator speaks every dialect, so callers of each are served without translation. */
export const sandbox: SupplierStyle = {
  name: 'sandbox',
  credential: 'bearer',
  needsCredential: () => false,
  operations: () => operations,
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  prepare: (call) => {
    const own = { ...call, credential };
    if (call.operation === 'native') return prepareNative(own, '/v1');
    return operations[call.operation] === 'messages' ? prepareMessages(own) : prepareWith(profile, own);
  },
  readError: (body) => {
    const isMessages = typeof body === 'object' && body !== null && Reflect.get(body, 'type') === 'error';
    return dialects[isMessages ? 'messages' : 'chat'].readError(body);
  },
};
