import { uuidv7 } from '../../kernel';
import type { Operation } from '../operations/operation';

/**
 * The id of a translated answer. Suppliers of other dialects may repeat ids; where callers refer to answers, each
 * needs its own.
 */
export const answerId = ({ keepsAnswers }: Operation): { readonly id?: string } =>
  keepsAnswers === true ? { id: `resp_${uuidv7().replaceAll('-', '')}` } : {};
