import { Module } from '@nestjs/common';
import { WebModule } from '../web';
import { AlertPagesModule } from './alerts/alerts.module';
import { BillingDeskModule } from './billing/billing-desk.module';
import { AuditLogModule } from './audit/audit-log.module';
import { CatalogueAdminModule } from './catalogue/catalogue-admin.module';
import { EnginesModule } from './engines/engines.module';
import { TapPagesModule } from './extensions/taps/taps.module';
import { ExtensionPagesModule } from './extensions/extensions.module';
import { ConversationsModule } from './conversations/conversations.module';
import { ObservabilityModule } from './observability/observability.module';
import { QuarantinePagesModule } from './quarantine/quarantine-pages.module';
import { UserUsageModule } from './usage/user-usage.module';
import { PeopleModule } from './people.module';

/** The pages and operations below /dashboard/admin and /api/admin; each area is a folder with a module of its own. */
@Module({
  imports: [
    WebModule,
    AlertPagesModule,
    BillingDeskModule,
    AuditLogModule,
    CatalogueAdminModule,
    EnginesModule,
    ConversationsModule,
    ExtensionPagesModule,
    ObservabilityModule,
    QuarantinePagesModule,
    TapPagesModule,
    UserUsageModule,
    PeopleModule,
  ],
})
export class AdminModule {}
