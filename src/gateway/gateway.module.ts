import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { RoutingModule } from '../routing';
import { IdempotencyModule, WebModule } from '../web';
import { AutoBudgets } from './auto/auto-budgets';
import { AutoCandidates } from './auto/auto-candidates';
import { AutoDecisions } from './auto/auto-decisions';
import { AutoModel } from './auto/auto-model';
import { AutoRetries } from './auto/auto-retries';
import { AutoTraffic } from './auto/auto-traffic';
import { ReferenceUsage } from './auto/reference-usage';
import { CountTokensController } from './count-tokens/count-tokens.controller';
import { TokenCounter } from './count-tokens/token-counter';
import { ErrorsController } from './errors.controller';
import { HealthController } from './health.controller';
import { Admissions } from './admission/admit';
import { AnswerSampling } from './settle/answer-sampling';
import { AttemptTools } from './attempt/attempt-tools';
import { Holds } from './admission/hold';
import { TokenRate } from './admission/token-rate';
import { RequestGate } from './intake/request-gate';
import { InnerChat } from './inner/inner-chat';
import { InnerEvaluation } from './inner/inner-evaluation';
import { Observer } from './settle/observer';
import { Pipeline } from './pipeline';
import { Gauges } from './gauges';
import { Lifecycle } from './intake/lifecycle';
import { ManageModule } from './manage/manage.module';
import { ModelsController } from './models.controller';
import { OpenStreams } from './reply/open-streams';
import { ResponsesController } from './responses/responses.controller';
import { ResponsesModule } from './responses/responses.module';
import { SingleShotController } from './single-shot.controller';
import { TextController } from './text.controller';

@Module({
  imports: [
    AuditModule,
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
    ModelsController,
    TextController,
    ResponsesController,
    SingleShotController,
    CountTokensController,
  ],
  providers: [
    Lifecycle,
    Gauges,
    OpenStreams,
    RequestGate,
    Admissions,
    AnswerSampling,
    AttemptTools,
    AutoBudgets,
    AutoCandidates,
    AutoDecisions,
    AutoModel,
    AutoRetries,
    AutoTraffic,
    ReferenceUsage,
    Holds,
    TokenRate,
    Observer,
    Pipeline,
    InnerChat,
    InnerEvaluation,
    TokenCounter,
  ],
  exports: [AnswerSampling, InnerChat, InnerEvaluation, Lifecycle],
})
export class GatewayModule {}
