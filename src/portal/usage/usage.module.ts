import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { UsageController } from './usage.controller';

@Module({ imports: [WebModule], controllers: [UsageController] })
export class UsageModule {}
