export type { AutoDecision } from './auto/auto-route';
export { familyOf, sealOf } from './auto/sealed-history';
export { GatewayModule } from './gateway.module';
export { ResponseStore, sealedResponses } from './responses/response-store';
export { type InnerAccount, type InnerAnswer, InnerChat, type InnerRoute } from './inner/inner-chat';
export {
  type AnswerSampler,
  AnswerSampling,
  type RetriedAnswer,
  type ServedAnswer,
} from './settle/answer-sampling';
export type { Call } from './intake/describe';
export { type EvaluationAnswer, InnerEvaluation } from './inner/inner-evaluation';
export { Lifecycle } from './intake/lifecycle';
export { callableModels } from './admission/model-access';
export { presentRecord, recordColumns } from './manage/record-presenter';
export { gatewayComponents } from './openapi/components';
export { describedGatewayRoutes, gatewayNotes, gatewayTags, isGatewayRoute } from './openapi/operations';
