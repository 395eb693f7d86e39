import { type AnswerCheck, unusable } from '../answer-check';
import { isRecord } from '../usage';
import { resultsIn, scoreOf } from './results';

/**
 * The document and the score of every result have to be known: neither follows from the order. The list may be empty,
 * as a threshold can leave nothing.
 */
export const checkRerankAnswer: AnswerCheck = (answer, { documents } = {}) => {
  const results = resultsIn(answer);
  if (results === undefined) return unusable('results');
  const most = Array.isArray(documents) ? documents.length : Infinity;
  const places = new Set(results.map((result) => (isRecord(result) ? result.index : undefined)));
  const arePlaces = [...places].every(
    (index) => Number.isInteger(index) && Number(index) >= 0 && Number(index) < most,
  );
  if (!arePlaces || places.size < results.length) return unusable('the places of the documents');
  return results.every((result) => scoreOf(result) !== undefined) ? undefined : unusable('scores');
};
