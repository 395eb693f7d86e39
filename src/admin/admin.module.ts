import { Module } from '@nestjs/common';
import { WebModule } from '../web';
import { AlertPagesModule } from './alerts/alerts.module';
import { BillingAdminModule } from './billing/billing-admin.module';
import { AuditLogModule } from './audit/audit-log.module';
import { CatalogueAdminModule } from './catalogue/catalogue-admin.module';
import { EnginesModule } from './engines/engines.module';
import { TapPagesModule } from './extensions/taps/taps.module';
import { ExtensionPagesModule } from './extensions/extensions.module';
import { ConversationsModule } from './conversations/conversations.module';
import { ObservabilityModule } from './observability/observability.module';
import { QuarantinePagesModule } from './quarantine/quarantine-pages.module';
import { UserUsageModule } from './usage/user-usage.module';
import { AccountAdminModule } from './account-admin.module';

@Module({
  imports: [
    WebModule,
    AlertPagesModule,
    BillingAdminModule,
    AuditLogModule,
    CatalogueAdminModule,
    EnginesModule,
    ConversationsModule,
    ExtensionPagesModule,
    ObservabilityModule,
    QuarantinePagesModule,
    TapPagesModule,
    UserUsageModule,
    AccountAdminModule,
  ],
})
export class AdminModule {}
