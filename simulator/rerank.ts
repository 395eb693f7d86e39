import { errorReply, type Complaint } from './complaint';
import { hashName, hashText } from './hash';
import { listOf, numberOf, objectOf, textOf } from './json';
import { jsonReply, type Reply } from './reply';
import type { RouteCall, Handler } from './route';
import { modelExists } from './settings';
import { countTokens } from './tokens';
import { distortUsage } from './usage';

/** `/v1/rerank`: documents can be objects and can be returned. */
export const rerankV1: Handler = (call) => rerank(call, '1');
/** `/v2/rerank`: documents are strings, and only indexes are returned. */
export const rerankV2: Handler = (call) => rerank(call, '2');

function rerank({ body, settings, usageVariant }: RouteCall, version: '1' | '2'): Reply {
  const model = textOf(body['model']);
  const query = textOf(body['query']);
  const documents = listOf(body['documents']).map(documentText);
  const refuse = (complaint: Complaint): Reply => errorReply('openai', complaint);
  if (model === '') return refuse({ message: 'invalid request: model is required', param: 'model' });
  if (!modelExists(model, settings))
    return refuse({ status: 404, message: `model '${model}' not found`, code: 'model_not_found' });
  if (query === '') return refuse({ message: 'invalid request: query must not be empty', param: 'query' });
  if (documents.length === 0) {
    return refuse({ message: 'invalid request: list of documents must not be empty', param: 'documents' });
  }
  const topN = numberOf(body['top_n']) ?? documents.length;
  if (!Number.isInteger(topN) || topN < 1) {
    return refuse({ message: 'invalid request: top_n must be a positive integer', param: 'top_n' });
  }
  const returnsDocuments = version === '1' && body['return_documents'] === true;
  const results = documents
    .map((text, index) => ({
      index,
      relevance_score: relevance(query, text),
      ...(returnsDocuments ? { document: { text } } : {}),
    }))
    .sort((left, right) => right.relevance_score - left.relevance_score || left.index - right.index)
    .slice(0, topN);
  const tokens =
    countTokens(query) * documents.length + documents.reduce((sum, text) => sum + countTokens(text), 0);
  const billedUnits = distortUsage({ search_units: Math.ceil(documents.length / 100) }, usageVariant);
  const meta = {
    api_version: { version },
    billed_units: billedUnits,
    tokens: distortUsage({ input_tokens: tokens }, usageVariant),
  };
  return jsonReply({ id: hashName(query, ...documents), results, meta });
}

function documentText(document: unknown): string {
  return typeof document === 'string' ? document : textOf(objectOf(document)['text']);
}

/** Ranks by the number of shared words; the text's hash breaks ties and counts less than one word. */
function relevance(query: string, text: string): number {
  const queryWords = new Set(query.toLowerCase().split(/\W+/).filter(Boolean));
  const textWords = new Set(text.toLowerCase().split(/\W+/));
  const sharedCount = [...queryWords].filter((word) => textWords.has(word)).length;
  const part = (sharedCount + (hashText(text) % 1000) / 1001) / (queryWords.size + 1);
  return Math.round(part * 1e7) / 1e7;
}
