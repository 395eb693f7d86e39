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
import { budgetsForecast, budgetsUsed } from './budget-looks';
import { keysEnding, spendAnomalies, walletsForecast, walletsLow } from './customer-looks';
import type { Look } from './look';
import { disksLow, journalsOld } from './node-looks';
import { SpendDays } from './spend-days';
import { lanesOpen, modelsFail, modelsSlow, sealsLate, suppliersRefuse } from './supplier-looks';
import { backupsOld, certificateEnding, jobsOverdue, logBehind, tapsBehind } from './upkeep-looks';

/** How each kind of alert is looked for. */
@Injectable()
export class AlertLooks {
  readonly of: Readonly<Record<AlertKindName, Look>>;

  constructor(
    database: Database,
    days: SpendDays,
    settings: Settings,
    backups: BackupAge,
    catalogue: CatalogueService,
    credentials: CredentialStore,
  ) {
    const ofProviders = (): readonly ProviderCertificate[] =>
      providerCertificates(catalogue.snapshot.providers, credentials);
    this.of = {
      'budget-used': budgetsUsed(database),
      'budget-forecast': budgetsForecast(database, days),
      'wallet-low': walletsLow(database),
      'wallet-forecast': walletsForecast(database, days),
      'key-ending': keysEnding(database),
      'spend-anomaly': spendAnomalies(database, days),
      'supplier-refuses': suppliersRefuse(database),
      'lane-open': lanesOpen(database),
      'error-rate': modelsFail(database),
      latency: modelsSlow(database),
      'tap-behind': tapsBehind(database),
      'seal-late': sealsLate(database),
      'journal-old': journalsOld(database),
      'disk-low': disksLow(database),
      'certificate-ending': certificateEnding(settings, ofProviders),
      'job-overdue': jobsOverdue(database),
      'backup-old': backupsOld(backups),
      'log-behind': logBehind(backups),
    };
  }
}
