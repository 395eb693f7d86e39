import { Module } from '@nestjs/common';
import { BillingModule } from '../billing';
import { RoutingModule } from '../routing';
import { WebModule } from '../web';
import { ErrorsController } from './errors.controller';
import { HealthController } from './health.controller';
import { InferenceController } from './inference.controller';
import { AttemptTools } from './inference/attempt';
import { Doorway } from './inference/doorway';
import { Observer } from './inference/observer';
import { Pipeline } from './inference/pipeline';
import { Lifecycle } from './lifecycle';
import { ManageModule } from './manage/manage.module';
import { ModelsController } from './models.controller';

@Module({
  imports: [WebModule, RoutingModule, BillingModule, ManageModule],
  controllers: [HealthController, ErrorsController, ModelsController, InferenceController],
  providers: [Lifecycle, Doorway, AttemptTools, Observer, Pipeline],
  exports: [Lifecycle],
})
export class GatewayModule {}
