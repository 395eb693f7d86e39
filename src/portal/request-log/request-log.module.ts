import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { RequestLogController } from './request-log.controller';

@Module({ imports: [WebModule], controllers: [RequestLogController] })
export class RequestLogModule {}
