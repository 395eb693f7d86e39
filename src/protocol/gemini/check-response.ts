import { type ResponseCheck, nonEmptyList, missingContent } from '../response-check';
import { isRecord, pick } from '../usage';

/** A blocked prompt has no candidates but a block reason. */
export const checkGeminiResponse: ResponseCheck = (body) => {
  const isBlocked = typeof pick(body, 'promptFeedback', 'blockReason') === 'string';
  return isBlocked || isRecord(nonEmptyList(body.candidates)?.[0]) ? undefined : missingContent('candidates');
};
