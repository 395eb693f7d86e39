import { uuidv7 } from '../../kernel';
import type { Operation } from '../inference/operation';

/**
 * The id of an answer that is translated. Suppliers of other dialects may give every answer the same one; where
 * callers refer to answers, each has to have its own.
 */
export const answerId = ({ keepsAnswers }: Operation): { readonly id?: string } =>
  keepsAnswers === true ? { id: `resp_${uuidv7().replaceAll('-', '')}` } : {};
