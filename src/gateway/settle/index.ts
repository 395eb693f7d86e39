import { AnswerSampling } from './answer-sampling';
import { RequestMetrics } from './request-metrics';
import { SettledGates } from './settled-gates';
import { Settlement } from './settlement';

export {
  type AnswerSample,
  type AnswerSampler,
  AnswerSampling,
  type RetriedAnswer,
  type ServedAnswer,
} from './answer-sampling';
export { chargedUsage, estimateUsage, usageOfStream, usageOfComplete, withServedUses } from './answer-usage';
export { createRequestProgress, type RequestProgress } from './request-progress';
export { Settlement } from './settlement';

export const settleStage = [AnswerSampling, RequestMetrics, SettledGates, Settlement];
