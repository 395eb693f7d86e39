import { Module } from '@nestjs/common';
import { QualityModule } from '../../quality';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { EnginePagesModule } from '../engines/engines.module';
import { RetentionTextReader } from './retention-text';
import { OwnThumbs } from './own-thumbs';
import { RequestFeedbackController } from './request-feedback.controller';
import { RequestLogController } from './request-log.controller';

@Module({
  imports: [CatalogueModule, WebModule, QualityModule, EnginePagesModule],
  controllers: [RequestLogController, RequestFeedbackController],
  providers: [OwnThumbs, RetentionTextReader],
})
export class RequestLogModule {}
