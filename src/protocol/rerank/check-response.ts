import { type ResponseCheck, missingContent } from '../response-check';
import { isRecord } from '../usage';
import { resultsIn, scoreOf } from './results';

/**
 * Every result needs its document index and score, as neither follows from the order. The list can be empty because of
 * a threshold.
 */
export const checkRerankResponse: ResponseCheck = (response, { documents } = {}) => {
  const results = resultsIn(response);
  if (results === undefined) return missingContent('results');
  const documentCount = Array.isArray(documents) ? documents.length : Infinity;
  const indexes = new Set(results.map((result) => (isRecord(result) ? result.index : undefined)));
  const areValid = [...indexes].every(
    (index) => Number.isInteger(index) && Number(index) >= 0 && Number(index) < documentCount,
  );
  if (!areValid || indexes.size < results.length) return missingContent('the places of the documents');
  return results.every((result) => scoreOf(result) !== undefined) ? undefined : missingContent('scores');
};
