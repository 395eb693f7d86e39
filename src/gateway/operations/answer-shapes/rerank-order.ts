import type { JsonFields } from '../../../kernel';
import { resultsIn, scoreOf } from '../../../protocol';

/**
 * Normalises a rerank response, as suppliers differ: names results and scores, sorts best first, cuts to `top_n` and
 * adds the model's name.
 */
export function normaliseRanking(response: JsonFields, { model, top_n: topN }: JsonFields): JsonFields {
  const answer = renameScores(response);
  const { results } = answer;
  if (!Array.isArray(results)) return answer;
  const maxResults = typeof topN === 'number' ? topN : results.length;
  const isRanked =
    results.length <= maxResults &&
    results.every((result, index) => index === 0 || isAfter(results[index - 1], result));
  if (isRanked && answer.model !== undefined) return answer;
  const sorted = isRanked
    ? results
    : results.toSorted((one, other) => sortScore(other) - sortScore(one)).slice(0, maxResults);
  return { model, ...answer, results: sorted };
}

function renameScores(response: JsonFields): JsonFields {
  const list = resultsIn(response);
  if (list === undefined) return response;
  const isNamed = (result: unknown): boolean => (result as JsonFields).relevance_score !== undefined;
  if (list === response.results && list.every(isNamed)) return response;
  const { data: _data, ...rest } = response;
  const results = list.map((result) => {
    const { score, ...others } = result as JsonFields;
    return isNamed(result) ? result : { ...others, relevance_score: score };
  });
  return { ...rest, results };
}

const isAfter = (one: unknown, other: unknown): boolean => sortScore(one) >= sortScore(other);

const sortScore = (result: unknown): number => scoreOf(result) ?? -Number.MAX_VALUE;

const DOCUMENTS_PER_UNIT = 100;
/** Suppliers split documents, including the query, at about 500 tokens and count every piece. */
const MIN_BYTES_PER_PIECE = 500;

/** Maximum search units that a rerank can be charged for. */
export const searchUnitsBound = ({ documents }: JsonFields, bytes: number): number =>
  Math.ceil(
    ((Array.isArray(documents) ? documents.length : 0) + bytes / MIN_BYTES_PER_PIECE) / DOCUMENTS_PER_UNIT,
  );

/** Suppliers that sell by tokens count the query once per document. */
export const rerankTextBound = ({ query, documents }: JsonFields, bytes: number): number =>
  bytes + Buffer.byteLength(String(query)) * (Array.isArray(documents) ? documents.length : 0);
