import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { WebModule } from '../../web';
import { PromotionsController } from './promotions.controller';

@Module({ imports: [WebModule, BillingModule], controllers: [PromotionsController] })
export class PromotionsModule {}
