import type { BearerCredential } from '../../../catalogue';
import { dialects } from '../../../protocol';
import type { Operations, CoreStyle } from '../kit';
import { messagesOperations, prepareMessages } from '../messages-style/messages-style';
import { prepareNative } from '../native-oauth/native-oauth';
import { prepareWith } from '../openai-style/openai-style';
import { operationsOf, profiles, type SupplierProfile } from '../openai-style/profiles';

/** The key that the simulator expects; it protects nothing. */
const credential: BearerCredential = { kind: 'bearer', id: 'sandbox', token: 'sim-sandbox' };

const profile: SupplierProfile = {
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

/** The built-in simulator supports every dialect, so requests are not converted. */
export const sandbox: CoreStyle = {
  name: 'sandbox',
  credential: 'bearer',
  needsCredential: () => false,
  operations: () => operations,
  fields: () => ({ validates: true, own: () => [] }),
  target: ({ upstreamModel, facts }) => ({ model: upstreamModel, facts }),
  prepare: (call) => {
    const ownCall = { ...call, credential };
    if (call.operation === 'native') return prepareNative(ownCall, '/v1');
    return operations[call.operation] === 'messages'
      ? prepareMessages(ownCall)
      : prepareWith(profile, ownCall);
  },
  readError: (body) => {
    const isMessages = typeof body === 'object' && body !== null && Reflect.get(body, 'type') === 'error';
    return dialects[isMessages ? 'messages' : 'chat'].readError(body);
  },
};
