import { errorReply, type Complaint } from './complaint';
import { hashName, hashText } from './hash';
import { listOf, numberOf, objectOf, textOf } from './json';
import { jsonReply, type Reply } from './reply';
import type { Call, Handler } from './route';
import { modelExists } from './settings';
import { countTokens } from './tokens';
import { distorted } from './usage';

/** `/v1/rerank`: documents may be objects and can be sent back. */
export const rerankFirst: Handler = (call) => rerank(call, '1');
/** `/v2/rerank`: strings only, indexes only. */
export const rerankSecond: Handler = (call) => rerank(call, '2');

function rerank({ body, settings, usageVariant }: Call, version: '1' | '2'): Reply {
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
  const asked = numberOf(body['top_n']) ?? documents.length;
  if (!Number.isInteger(asked) || asked < 1) {
    return refuse({ message: 'invalid request: top_n must be a positive integer', param: 'top_n' });
  }
  const returns = version === '1' && body['return_documents'] === true;
  const results = documents
    .map((text, index) => ({
      index,
      relevance_score: relevance(query, text),
      ...(returns ? { document: { text } } : {}),
    }))
    .sort((left, right) => right.relevance_score - left.relevance_score || left.index - right.index)
    .slice(0, asked);
  const tokens =
    countTokens(query) * documents.length + documents.reduce((sum, text) => sum + countTokens(text), 0);
  const billed = distorted({ search_units: Math.ceil(documents.length / 100) }, usageVariant);
  const meta = {
    api_version: { version },
    billed_units: billed,
    tokens: distorted({ input_tokens: tokens }, usageVariant),
  };
  return jsonReply({ id: hashName(query, ...documents), results, meta });
}

function documentText(document: unknown): string {
  return typeof document === 'string' ? document : textOf(objectOf(document)['text']);
}

/** Shared words decide; the text's hash breaks ties, always below one more shared word. */
function relevance(query: string, text: string): number {
  const wanted = new Set(query.toLowerCase().split(/\W+/).filter(Boolean));
  const found = new Set(text.toLowerCase().split(/\W+/));
  const shared = [...wanted].filter((word) => found.has(word)).length;
  const part = (shared + (hashText(text) % 1000) / 1001) / (wanted.size + 1);
  return Math.round(part * 1e7) / 1e7;
}
