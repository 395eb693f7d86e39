import { Injectable } from '@nestjs/common';
import {
  CatalogueService,
  CredentialStore,
  type ProviderCertificate,
  providerCertificates,
} from '../../catalogue';
import { Database, Settings } from '../../platform';
import { BackupAge } from '../backup-age';
import type { AlertKindName } from '../catalogue/kinds';
import { detectBudgetForecasts, detectUsedBudgets } from './budget-detectors';
import {
  detectExpiringKeys,
  detectSpendAnomalies,
  detectWalletForecasts,
  detectLowWallets,
} from './customer-detectors';
import type { AlertDetector } from './detector';
import { detectLowDisks, detectOldJournals } from './node-detectors';
import { SpendDays } from './spend-days';
import {
  detectOpenLanes,
  detectFailingModels,
  detectSlowModels,
  detectLateSeals,
  detectRejectedCredentials,
} from './supplier-detectors';
import {
  detectOldBackups,
  detectExpiringCertificates,
  detectOverdueJobs,
  detectLogLag,
  detectLaggingTaps,
} from './maintenance-detectors';

@Injectable()
export class AlertDetectors {
  readonly byKind: Readonly<Record<AlertKindName, AlertDetector>>;

  constructor(
    database: Database,
    days: SpendDays,
    settings: Settings,
    backups: BackupAge,
    catalogue: CatalogueService,
    credentials: CredentialStore,
  ) {
    const loadProviderCertificates = (): readonly ProviderCertificate[] =>
      providerCertificates(catalogue.snapshot.providers, credentials);
    this.byKind = {
      'budget-used': detectUsedBudgets(database),
      'budget-forecast': detectBudgetForecasts(database, days),
      'wallet-low': detectLowWallets(database),
      'wallet-forecast': detectWalletForecasts(database, days),
      'key-ending': detectExpiringKeys(database),
      'spend-anomaly': detectSpendAnomalies(database, days),
      'supplier-refuses': detectRejectedCredentials(database),
      'lane-open': detectOpenLanes(database),
      'error-rate': detectFailingModels(database),
      latency: detectSlowModels(database),
      'tap-behind': detectLaggingTaps(database),
      'seal-late': detectLateSeals(database),
      'journal-old': detectOldJournals(database),
      'disk-low': detectLowDisks(database),
      'certificate-ending': detectExpiringCertificates(settings, loadProviderCertificates),
      'job-overdue': detectOverdueJobs(database),
      'backup-old': detectOldBackups(backups),
      'log-behind': detectLogLag(backups),
    };
  }
}
