import { fault } from '../../kernel';
import { type ResponseCheck, hasFinishReason, missingContent } from '../response-check';
import { isRecord } from '../usage';

/** Models can end their turn without text: empty content with a stop reason is valid. */
export const checkMessagesResponse: ResponseCheck = ({ content, stop_reason: reason }) => {
  if (!Array.isArray(content)) return missingContent('content');
  if (!content.every(isRecord)) return missingContent('blocks in its content');
  return content.length > 0 || hasFinishReason(reason) ? undefined : fault('empty_response');
};
