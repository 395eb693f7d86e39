import { Module } from '@nestjs/common';
import { BillingModule as WalletModule } from '../../billing';
import { WebModule } from '../../web';
import { BillingDataController } from './billing-data.controller';
import { CheckoutController } from './checkout.controller';
import { WalletParties } from './wallet-party';
import { WebhookController } from './webhook.controller';

@Module({
  imports: [WebModule, WalletModule],
  controllers: [BillingDataController, CheckoutController, WebhookController],
  providers: [WalletParties],
})
export class BillingPagesModule {}
