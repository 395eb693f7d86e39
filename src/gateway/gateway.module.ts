import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { OutgoingModule } from '../platform';
import { RoutingModule } from '../routing';
import { IdempotencyModule, WebModule } from '../web';
import { admissionStage } from './admission';
import { attemptStage } from './attempt';
import { ClaudeCodeBudgets } from './claude-code/claude-code-budgets';
import { ClaudeCodeController } from './claude-code/claude-code.controller';
import { CountTokensController } from './count-tokens/count-tokens.controller';
import { TokenCounter } from './count-tokens/token-counter';
import { ErrorsController } from './errors.controller';
import { Gates } from './gates/gate-hooks';
import { HttpGates } from './gates/http-gates';
import { Gauges } from './gauges';
import { HealthController } from './health.controller';
import { InnerChat } from './inner/inner-chat';
import { InnerEvaluation } from './inner/inner-evaluation';
import { intakeStage, Lifecycle } from './intake';
import { ManageModule } from './manage/manage.module';
import { masksStage } from './masks';
import { GatewayDescription } from './openapi/gateway-description';
import { OpenApiController } from './openapi/openapi.controller';
import { GatewayModelsController } from './models.controller';
import { Pipeline } from './pipeline';
import { GatewayReadiness } from './readiness';
import { relayStage } from './relay';
import { ResponsesController } from './responses/responses.controller';
import { ResponsesModule } from './responses/responses.module';
import { ModelJudge } from './safeguards/model-judge';
import { AnswerSampling, settleStage } from './settle';
import { SingleShotController } from './single-shot.controller';
import { StoredIdsService } from './stored/stored-ids.service';
import { TextController } from './text.controller';
import { Tracing } from './trace/tracing';

@Module({
  imports: [
    AuditModule,
    OutgoingModule,
    WebModule,
    RoutingModule,
    BillingModule,
    IdempotencyModule,
    ResponsesModule,
    ManageModule,
  ],
  controllers: [
    HealthController,
    ErrorsController,
    GatewayModelsController,
    TextController,
    ResponsesController,
    SingleShotController,
    CountTokensController,
    ClaudeCodeController,
    OpenApiController,
  ],
  providers: [
    Gauges,
    GatewayReadiness,
    Gates,
    HttpGates,
    Tracing,
    StoredIdsService,
    Pipeline,
    ClaudeCodeBudgets,
    ...intakeStage,
    ...masksStage,
    ...admissionStage,
    ...attemptStage,
    ...relayStage,
    ...settleStage,
    InnerChat,
    InnerEvaluation,
    ModelJudge,
    TokenCounter,
    GatewayDescription,
  ],
  exports: [...admissionStage, AnswerSampling, GatewayDescription, InnerChat, InnerEvaluation, Lifecycle],
})
export class GatewayModule {}
