import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { CatalogueModule } from '../../catalogue';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { NoticesModule } from '../notices/notices.module';
import { PublicModule } from '../public/public.module';
import { OverviewController } from './overview.controller';
import { FundsService } from './funds.service';
import { SetUpService } from './set-up.service';

@Module({
  imports: [WebModule, CatalogueModule, RoutingModule, BillingModule, PublicModule, NoticesModule],
  controllers: [OverviewController],
  providers: [FundsService, SetUpService],
})
export class OverviewModule {}
