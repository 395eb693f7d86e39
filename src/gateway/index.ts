export { GatewayModule } from './gateway.module';
export { ResponseStore, sealedResponses } from './responses/response-store';
export { type InnerAccount, type InnerAnswer, InnerChat, type InnerRoute } from './inner/inner-chat';
export { type AnswerSampler, AnswerSampling, type RetriedAnswer, type ServedAnswer } from './settle';
export { AUTO, type Call, conversationOf, type Inbound, Lifecycle, stickyKey } from './intake';
export { type EvaluationAnswer, InnerEvaluation } from './inner/inner-evaluation';
export {
  type Admission,
  Admissions,
  callableModels,
  type ChosenRoute,
  Holds,
  isListed,
  type ModelChooser,
  RegisteredChooser,
  Routes,
  sharedFacts,
} from './admission';
export { isSpoken, isText, type Operation, type TextOperation } from './operations/operation';
export { presentRecord, recordColumns } from './manage/record-presenter';
export { GatewayDescription } from './openapi/gateway-description';
export { describedGatewayRoutes, isGatewayRoute, kindAsked } from './openapi/operations';
