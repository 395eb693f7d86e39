import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { ActivityController } from './activity.controller';

@Module({ imports: [WebModule], controllers: [ActivityController] })
export class ActivityModule {}
