import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { IdentityModule } from '../../identity';
import { WebModule } from '../../web';
import { BillingAdminController } from './billing-admin.controller';

@Module({ imports: [WebModule, BillingModule, IdentityModule], controllers: [BillingAdminController] })
export class BillingAdminModule {}
