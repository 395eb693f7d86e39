import type { JsonFields } from '../../../kernel';
import { resultsIn, scoreOf } from '../../../protocol';

/**
 * It calls results and scores by their names, sorts them best first, cuts them to the requested number and
 * adds the model's name. Not every supplier does so.
 */
export function ranked(told: JsonFields, { model, top_n: asked }: JsonFields): JsonFields {
  const answer = named(told);
  const { results } = answer;
  if (!Array.isArray(results)) return answer;
  const most = typeof asked === 'number' ? asked : results.length;
  const isRanked =
    results.length <= most && results.every((result, at) => at === 0 || isAfter(results[at - 1], result));
  if (isRanked && answer.model !== undefined) return answer;
  const sorted = isRanked
    ? results
    : results.toSorted((one, other) => placeOf(other) - placeOf(one)).slice(0, most);
  return { model, ...answer, results: sorted };
}

function named(told: JsonFields): JsonFields {
  const list = resultsIn(told);
  if (list === undefined) return told;
  const isNamed = (result: unknown): boolean => (result as JsonFields).relevance_score !== undefined;
  if (list === told.results && list.every(isNamed)) return told;
  const { data: _data, ...rest } = told;
  const results = list.map((result) => {
    const { score, ...others } = result as JsonFields;
    return isNamed(result) ? result : { ...others, relevance_score: score };
  });
  return { ...rest, results };
}

const isAfter = (one: unknown, other: unknown): boolean => placeOf(one) >= placeOf(other);

const placeOf = (result: unknown): number => scoreOf(result) ?? -Number.MAX_VALUE;

const DOCUMENTS_PER_UNIT = 100;
/** Suppliers split documents at about 500 tokens, question included, and count every piece. */
const LEAST_BYTES_PER_PIECE = 500;

/** The most search units a rerank can be charged as. */
export const searchUnitsBound = ({ documents }: JsonFields, bytes: number): number =>
  Math.ceil(
    ((Array.isArray(documents) ? documents.length : 0) + bytes / LEAST_BYTES_PER_PIECE) / DOCUMENTS_PER_UNIT,
  );

/** Suppliers who sell by the token count the question once for every document. */
export const rerankTextBound = ({ query, documents }: JsonFields, bytes: number): number =>
  bytes + Buffer.byteLength(String(query)) * (Array.isArray(documents) ? documents.length : 0);
