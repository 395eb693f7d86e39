import type { Operations, SupplierError, SupplierStyle } from '@switchboard/extension';
import { chatAnswer, ChatStream } from './answers';
import { echoRequest } from './request';
import { signature } from './signature';

/**
 * All three kinds of conversation use the chat dialect: the gateway converts messages and responses to and from it, so
 * that we convert only one dialect.
 */
const operations: Operations = { chat: 'chat', messages: 'chat', responses: 'chat' };

const meanings: Readonly<Record<string, SupplierError['kind']>> = {
  busy: 'overloaded',
  'bad-signature': 'auth',
  'no-such-model': 'not_found',
  'too-long': 'context_length',
  'bad-request': 'invalid',
};

export const echoStyle: SupplierStyle = {
  name: 'echo',
  // A signing key has two parts, an id and a secret.
  credential: 'sigv4',
  needsCredential: () => true,
  operations: () => operations,

  // Echo rejects unknown fields, and we send only those that it knows.
  fields: () => ({ validates: false, own: () => [] }),

  target: ({ upstreamModel }) => ({
    model: upstreamModel,
    limitField: 'max_tokens',
    developerRole: false,
  }),

  // Converts a chat request to a request of echo. It can only be sent to the provider's own origin.
  prepare({ lane, body, stream, maxOutputTokens, credential, now }) {
    if (body.kind !== 'json' || credential?.kind !== 'sigv4') throw new Error('echo takes signed JSON');
    const { request, dropped } = echoRequest(body.text.body, {
      model: lane.upstreamModel,
      limit: maxOutputTokens,
      stream,
    });
    const url = new URL('/v2/generate', lane.provider.baseUrl);
    const text = JSON.stringify(request);
    return {
      url,
      headers: { 'content-type': 'application/json', ...signature(credential, url.pathname, text, now()) },
      body: text,
      dropped,
    };
  },

  // The gateway acts on the kind of error: `overloaded` tries another lane, `invalid` is reported to the caller.
  readError(body) {
    if (typeof body !== 'object' || body === null) return undefined;
    const { problem, says } = body as { readonly problem?: unknown; readonly says?: unknown };
    if (typeof problem !== 'string') return undefined;
    return {
      kind: meanings[problem] ?? 'unknown',
      type: problem,
      message: typeof says === 'string' ? says : problem,
      raw: body,
    };
  },

  unwrap: (body) => chatAnswer(new TextDecoder().decode(body)),

  unframer: () => new ChatStream(),
};
