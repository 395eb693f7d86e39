export { GatewayModule } from './gateway.module';
export { ResponseStore } from './responses/response-store';
export { ResponsesModule } from './responses/responses.module';
export { type InnerAccount, type InnerAnswer, InnerChat, type InnerRoute } from './inner/inner-chat';
export { Lifecycle } from './lifecycle';
export { callableModels } from './model-access';
export { presentRecord, recordColumns } from './manage/record-presenter';
export { gatewayComponents } from './openapi/components';
export { describedGatewayRoutes, gatewayNotes, gatewayTags, isGatewayRoute } from './openapi/operations';
