import { Module } from '@nestjs/common';
import { AlertsModule } from '../../alerts';
import { WebModule } from '../../web';
import { TestMessageRate } from '../test-message-rate';
import { AlertsController } from './alerts.controller';
import { AlertChannelsController } from './channels.controller';
import { AlertRulesController } from './rules.controller';

@Module({
  imports: [AlertsModule, WebModule],
  controllers: [AlertsController, AlertRulesController, AlertChannelsController],
  providers: [TestMessageRate],
})
export class AlertPagesModule {}
