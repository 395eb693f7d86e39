import { fault } from '../../kernel';
import { type AnswerCheck, hasReason, unusable } from '../answer-check';
import { isRecord } from '../usage';

const UNFINISHED: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'failed']);

export const checkResponsesAnswer: AnswerCheck = ({ output, status }) => {
  if (!Array.isArray(output)) return unusable('output');
  if (UNFINISHED.has(status)) return unusable('an end');
  if (!output.every(isRecord)) return unusable('items in its output');
  return output.length > 0 || hasReason(status) ? undefined : fault('empty_response');
};
