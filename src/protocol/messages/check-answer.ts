import { fault } from '../../kernel';
import { type AnswerCheck, hasReason, unusable } from '../answer-check';
import { isRecord } from '../usage';

/** Models may end their turn without a word: no content is an answer when it says why it stopped. */
export const checkMessagesAnswer: AnswerCheck = ({ content, stop_reason: reason }) => {
  if (!Array.isArray(content)) return unusable('content');
  if (!content.every(isRecord)) return unusable('blocks in its content');
  return content.length > 0 || hasReason(reason) ? undefined : fault('empty_response');
};
