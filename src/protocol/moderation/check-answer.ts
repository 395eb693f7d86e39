import { type AnswerCheck, filledList, unusable } from '../answer-check';
import { isRecord } from '../usage';

export const checkModerationAnswer: AnswerCheck = ({ results }) =>
  filledList(results)?.every(isRecord) === true ? undefined : unusable('results');
