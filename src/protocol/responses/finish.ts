import { type Finish, finishOf, type UnifiedFinish } from '../canonical';
import { pick } from '../usage';

const UNIFIED: Readonly<Record<string, UnifiedFinish>> = {
  completed: 'stop',
  max_output_tokens: 'length',
  content_filter: 'content-filter',
};

/** Why the response is incomplete; otherwise its status. */
export function readFinish(response: unknown): Finish {
  const status = pick(response, 'status');
  const reason = pick(response, 'incomplete_details', 'reason');
  const raw = typeof reason === 'string' ? reason : typeof status === 'string' ? status : null;
  return finishOf(UNIFIED, raw);
}

const INCOMPLETE: Readonly<Partial<Record<UnifiedFinish, string>>> = {
  length: 'max_output_tokens',
  'context-length': 'max_output_tokens',
  'content-filter': 'content_filter',
};

export const incompleteReason = ({ unified }: Finish): string | undefined => INCOMPLETE[unified];
