import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { AutorouterModule } from '../../autorouter';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { SecondFactorResets } from './second-factor-resets.service';
import { UserActsController } from './user-acts.controller';
import { UserBilling } from './user-billing.service';
import { UserPages } from './user-pages.service';
import { UserSpending } from './user-spending';
import { UsersController } from './users.controller';

@Module({
  imports: [WebModule, ViewsModule, BillingModule, AutorouterModule],
  controllers: [UserActsController, UsersController],
  providers: [SecondFactorResets, UserBilling, UserPages, UserSpending],
})
export class UsersModule {}
