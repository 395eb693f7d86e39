import type { Operations, SupplierError, SupplierStyle } from '@switchboard/extension';
import { chatAnswer, ChatStream } from './answers';
import { echoRequest } from './request';
import { signature } from './signature';

/**
 * The three kinds of conversation are all asked for in the chat dialect: the gateway translates messages and responses
 * to it and back, so that we translate one dialect only.
 */
const operations: Operations = { chat: 'chat', messages: 'chat', responses: 'chat' };

/** Echo has one word for each of its problems. */
const meanings: Readonly<Record<string, SupplierError['kind']>> = {
  busy: 'overloaded',
  'bad-signature': 'auth',
  'no-such-model': 'not_found',
  'too-long': 'context_length',
  'bad-request': 'invalid',
};

export const echoStyle: SupplierStyle = {
  name: 'echo',
  // Two parts, an id and a secret, which is what a key that signs has.
  credential: 'sigv4',
  needsCredential: () => true,
  operations: () => operations,

  // Echo refuses fields that it does not know, and we send it only those that it does.
  fields: () => ({ validates: false, own: () => [] }),

  // How the gateway is to write a chat request before we get it.
  target: ({ upstreamModel }) => ({
    model: upstreamModel,
    limitField: 'max_tokens',
    developerRole: false,
  }),

  // A chat request becomes a request of echo. It may go to the provider's own address and nowhere else.
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

  // The gateway acts by the kind of a refusal: `overloaded` tries another lane, `invalid` tells the caller.
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

  // A whole answer of echo becomes a whole answer of the chat dialect,
  unwrap: (body) => chatAnswer(new TextDecoder().decode(body)),

  // and a stream of its lines becomes a stream of events.
  unframer: () => new ChatStream(),
};
