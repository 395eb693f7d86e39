import { type AnswerCheck, filledList, unusable } from '../answer-check';
import { isRecord } from '../usage';

export const checkImageAnswer: AnswerCheck = ({ data }) =>
  filledList(data)?.every(isRecord) === true ? undefined : unusable('images');
