export { GatewayModule } from './gateway.module';
export { ResponseStore, sealedResponses } from './responses/response-store';
export { type InnerCharge, type InnerExchange, InnerChat, type InnerRoute } from './inner/inner-chat';
export { type AnswerSampler, AnswerSampling, type RetriedAnswer, type ServedAnswer } from './settle';
export { AUTO, type GatewayCall, conversationOf, type Inbound, Lifecycle, stickyKey } from './intake';
export { type EvaluationResponse, InnerEvaluation } from './inner/inner-evaluation';
export {
  type Admission,
  Admissions,
  callableModels,
  type ChosenRoute,
  Holds,
  isListed,
  type ModelChooser,
  RegisteredChooser,
  RoutePlanner,
  sharedLaneFacts,
} from './admission';
export { isPassThrough, isText, type GatewayOperation, type TextOperation } from './operations/operation';
export { presentRecord, recordColumns } from './manage/record-presenter';
export { GatewayDescription } from './openapi/gateway-description';
export { describedGatewayRoutes, isGatewayRoute, requestedModelKind } from './openapi/operations';
