import { type AnswerCheck, filledList, unusable } from '../answer-check';
import { isRecord, pick } from '../usage';

/** A blocked prompt has no candidates, and says why. */
export const checkGeminiAnswer: AnswerCheck = (body) => {
  const isBlocked = typeof pick(body, 'promptFeedback', 'blockReason') === 'string';
  return isBlocked || isRecord(filledList(body.candidates)?.[0]) ? undefined : unusable('candidates');
};
