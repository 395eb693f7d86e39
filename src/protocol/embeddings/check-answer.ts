import { type AnswerCheck, filledList, unusable } from '../answer-check';
import { isRecord } from '../usage';

export const checkEmbeddingsAnswer: AnswerCheck = ({ data }) =>
  filledList(data)?.every((item) => isRecord(item) && isVector(item.embedding)) === true
    ? undefined
    : unusable('embeddings');

/** A vector is numbers, or the same in base64. */
const isVector = (value: unknown): boolean =>
  Array.isArray(value) || (typeof value === 'string' && value !== '');
