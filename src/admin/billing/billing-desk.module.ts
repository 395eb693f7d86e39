import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { WebModule } from '../../web';
import { BillingDeskController } from './billing-desk.controller';

@Module({ imports: [WebModule, BillingModule], controllers: [BillingDeskController] })
export class BillingDeskModule {}
