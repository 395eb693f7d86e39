import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { UserUsageController } from './user-usage.controller';

@Module({ imports: [WebModule], controllers: [UserUsageController] })
export class UserUsageModule {}
