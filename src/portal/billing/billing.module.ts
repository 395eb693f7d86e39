import { Module } from '@nestjs/common';
import { BillingModule as WalletModule } from '../../billing';
import { WebModule } from '../../web';
import { BillingDataController } from './billing-data.controller';
import { BillingPageController } from './billing-page.controller';
import { BillingSettingsController } from './billing-settings.controller';
import { CheckoutController } from './checkout.controller';
import { BillingDocumentsController } from './billing-documents.controller';
import { WalletPartyService } from './wallet-party.service';
import { WebhookController } from './webhook.controller';

@Module({
  imports: [WebModule, WalletModule],
  controllers: [
    BillingDataController,
    BillingDocumentsController,
    BillingPageController,
    BillingSettingsController,
    CheckoutController,
    WebhookController,
  ],
  providers: [WalletPartyService],
})
export class BillingPagesModule {}
