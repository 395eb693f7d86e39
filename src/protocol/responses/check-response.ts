import { fault } from '../../kernel';
import { type ResponseCheck, hasFinishReason, missingContent } from '../response-check';
import { isRecord } from '../usage';

const UNFINISHED: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'failed']);

export const checkResponsesResponse: ResponseCheck = ({ output, status }) => {
  if (!Array.isArray(output)) return missingContent('output');
  if (UNFINISHED.has(status)) return missingContent('an end');
  if (!output.every(isRecord)) return missingContent('items in its output');
  return output.length > 0 || hasFinishReason(status) ? undefined : fault('empty_response');
};
