import { fault } from '../../kernel';
import { type AnswerCheck, filledList, hasReason, saysSomething, unusable } from '../answer-check';
import { isRecord } from '../usage';

/** A choice may be empty when it says why it stopped: reasoning can take all of the tokens there are. */
export const checkChatAnswer: AnswerCheck = ({ choices }) => {
  const given = filledList(choices);
  if (given === undefined) return unusable('choices');
  if (!given.every((choice) => isRecord(choice) && isRecord(choice.message)))
    return unusable('a message in every choice');
  const isWritten = given.some(
    (choice) =>
      isRecord(choice) && (hasReason(choice.finish_reason) || saysSomething(choice.message, ['role'])),
  );
  return isWritten ? undefined : fault('empty_response');
};

export const checkCompletionsAnswer: AnswerCheck = ({ choices }) => {
  const given = filledList(choices);
  if (given === undefined) return unusable('choices');
  if (!given.every((choice) => isRecord(choice) && typeof choice.text === 'string'))
    return unusable('a text in every choice');
  const isWritten = given.some(
    (choice) => isRecord(choice) && (hasReason(choice.finish_reason) || choice.text !== ''),
  );
  return isWritten ? undefined : fault('empty_response');
};
