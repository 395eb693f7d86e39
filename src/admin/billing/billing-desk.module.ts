import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { IdentityModule } from '../../identity';
import { WebModule } from '../../web';
import { BillingDeskController } from './billing-desk.controller';

@Module({ imports: [WebModule, BillingModule, IdentityModule], controllers: [BillingDeskController] })
export class BillingDeskModule {}
