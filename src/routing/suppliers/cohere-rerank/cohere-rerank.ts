import { dialects, type SupplierError } from '../../../protocol';
import { authorisation, endpoint, jsonBody, passing, prepared, type SupplierStyle } from '../kit';

export const cohereRerank: SupplierStyle = {
  name: 'cohere-rerank',
  credential: 'bearer',
  needsCredential: () => true,
  operations: () => ({ rerank: 'rerank' }),
  target: ({ upstreamModel }) => ({ model: upstreamModel }),
  usage: () => ({ inStream: 'never' }),
  prepare: (call) => {
    const body = jsonBody(call, (edits) => {
      edits.set.model = call.lane.upstreamModel;
      edits.drop('return_documents', 'unknown to the supplier');
    });
    return prepared(call, endpoint(call.lane.provider, '/v2', '/rerank'), body, {
      ...passing(call.headers, []),
      ...authorisation(call.credential, 'x-api-key'),
    });
  },
  readError: readRerankError,
};

/** `{message}`, with nothing that names the kind; some gateways in front answer in the chat shape. */
function readRerankError(body: unknown): SupplierError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const message: unknown = Reflect.get(body, 'message');
  return dialects.chat.readError(typeof message === 'string' ? { error: { message } } : body);
}
