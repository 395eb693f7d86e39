import { AnswerSampling } from './answer-sampling';
import { Observer } from './observer';
import { SettledGates } from './settled-gates';
import { Settlement } from './settlement';

export {
  type AnswerSample,
  type AnswerSampler,
  AnswerSampling,
  type RetriedAnswer,
  type ServedAnswer,
} from './answer-sampling';
export { chargedUsage, estimateUsage, usageOfStream, usageOfWhole, withServedUses } from './answer-usage';
export { begun, type RequestProgress } from './request-progress';
export { Settlement } from './settlement';

export const settleStage = [AnswerSampling, Observer, SettledGates, Settlement];
