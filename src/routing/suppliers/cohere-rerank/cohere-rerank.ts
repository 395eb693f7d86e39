import { dialects, type SupplierError } from '../../../protocol';
import { authorisation, endpoint, jsonBody, forwardedHeaders, prepareCall, type CoreStyle } from '../kit';

export const cohereRerank: CoreStyle = {
  name: 'cohere-rerank',
  credential: 'bearer',
  needsCredential: () => true,
  operations: () => ({ rerank: 'rerank' }),
  fields: () => ({ validates: false, own: () => ['priority'] }),
  target: ({ upstreamModel }) => ({ model: upstreamModel }),
  prepare: (call) => {
    const body = jsonBody(call, (edits) => {
      edits.set.model = call.lane.upstreamModel;
      edits.dropOwnLabels();
      edits.dropSteeringLabels();
      edits.drop('return_documents', 'unknown to the supplier');
      const { documents } = edits.parsed;
      if (Array.isArray(documents) && documents.some(isStructured)) {
        edits.approximate('documents', documents.map(textOf), 'objects became texts');
      }
    });
    return prepareCall(call, endpoint(call.lane.provider, '/v2', '/rerank'), body, {
      ...forwardedHeaders(call.headers, []),
      ...authorisation(call.credential, 'x-api-key'),
    });
  },
  readError: readRerankError,
};

/** The supplier ranks texts only: uses the text of an object, or its JSON. */
function textOf(document: unknown): unknown {
  if (!isStructured(document)) return document;
  const text: unknown = Reflect.get(document, 'text');
  return typeof text === 'string' ? text : JSON.stringify(document);
}

const isStructured = (document: unknown): document is object =>
  typeof document === 'object' && document !== null;

/** The error is `{message}` without a type; some gateways in front use the chat format. */
function readRerankError(body: unknown): SupplierError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const message: unknown = Reflect.get(body, 'message');
  return dialects.chat.readError(typeof message === 'string' ? { error: { message } } : body);
}
