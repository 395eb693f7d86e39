import { fault } from '../../kernel';
import {
  type ResponseCheck,
  nonEmptyList,
  hasFinishReason,
  hasContent,
  missingContent,
} from '../response-check';
import { isRecord } from '../usage';

/** A choice with a finish reason can be empty: reasoning can use up all tokens. */
export const checkChatResponse: ResponseCheck = ({ choices }) => {
  const choiceList = nonEmptyList(choices);
  if (choiceList === undefined) return missingContent('choices');
  if (!choiceList.every((choice) => isRecord(choice) && isRecord(choice.message)))
    return missingContent('a message in every choice');
  const hasOutput = choiceList.some(
    (choice) =>
      isRecord(choice) && (hasFinishReason(choice.finish_reason) || hasContent(choice.message, ['role'])),
  );
  return hasOutput ? undefined : fault('empty_response');
};

export const checkCompletionsResponse: ResponseCheck = ({ choices }) => {
  const choiceList = nonEmptyList(choices);
  if (choiceList === undefined) return missingContent('choices');
  if (!choiceList.every((choice) => isRecord(choice) && typeof choice.text === 'string'))
    return missingContent('a text in every choice');
  const hasOutput = choiceList.some(
    (choice) => isRecord(choice) && (hasFinishReason(choice.finish_reason) || choice.text !== ''),
  );
  return hasOutput ? undefined : fault('empty_response');
};
