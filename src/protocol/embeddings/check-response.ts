import { type ResponseCheck, nonEmptyList, missingContent } from '../response-check';
import { isRecord } from '../usage';

export const checkEmbeddingsResponse: ResponseCheck = ({ data }) =>
  nonEmptyList(data)?.every((item) => isRecord(item) && isVector(item.embedding)) === true
    ? undefined
    : missingContent('embeddings');

/** A vector is a list of numbers, or their base64 encoding. */
const isVector = (value: unknown): boolean =>
  Array.isArray(value) || (typeof value === 'string' && value !== '');
