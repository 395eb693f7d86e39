import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { CatalogueModule } from '../catalogue';
import { IdentityModule } from '../identity';
import { SecretsModule } from '../platform';
import { ViewsModule } from '../views';
import { AlertWatch } from './alert-watch';
import { BackupAge } from './backup-age';
import { AlertStore } from './book/alert.store';
import { AlertQuery } from './book/alert.query';
import { AlertChannel } from './channels/alert-channel.entity';
import { AlertChannels } from './channels/alert-channels';
import { AlertClient } from './channels/alert-client';
import { AlertMails } from './channels/alert-mails';
import { AlertTests } from './channels/alert-tests';
import { AlertWording } from './channels/alert-wording';
import { AlertDeliveries } from './delivery/alert-deliveries';
import { AlertDetectors } from './looks/alert-detectors';
import { SpendDays } from './looks/spend-days';
import { NodeWatch } from './node-watch';
import { AlertRules } from './rules/alert-rules';

@Module({
  imports: [
    AuditModule,
    BillingModule,
    CatalogueModule,
    IdentityModule,
    SecretsModule,
    TypeOrmModule.forFeature([AlertChannel]),
    ViewsModule,
  ],
  providers: [
    AlertStore,
    AlertChannels,
    AlertClient,
    AlertDeliveries,
    AlertDetectors,
    AlertMails,
    AlertQuery,
    AlertRules,
    AlertTests,
    AlertWatch,
    AlertWording,
    BackupAge,
    NodeWatch,
    SpendDays,
  ],
  exports: [AlertChannels, AlertClient, AlertQuery, AlertRules, AlertTests],
})
export class AlertsModule {}
