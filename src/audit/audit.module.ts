import { Module } from '@nestjs/common';
import { Extensions } from '../extensions';
import { Database, OutgoingModule } from '../platform';
import { ActivityLog } from './activity/activity-log';
import { ActivityQuery } from './activity/activity.query';
import { ActivityRetention } from './activity/activity-retention';
import { AuditChain } from './chain/audit-chain';
import { ChainStates } from './chain/chain-state';
import { SealAge } from './chain/seal-age';
import { SealWitness } from './chain/seal-witness';
import { ChainBreaks } from './chain/review/chain-breaks';
import { ChainReview } from './chain/review/chain-review';
import { Refusals } from './refusals';
import { RecordRetention } from './record-retention';
import { ChosenModelsQuery } from './chosen-models.query';
import { LatencyQuery } from './latency.query';
import { RequestLogQuery } from './request-log/request-log.query';
import { DatabaseRecords } from './records-port';
import { RequestRecordQuery } from './request-record.query';
import { RequestRecords } from './request-records';
import { DeadLetters } from './taps/dead-letters';
import { TapDelivery } from './taps/tap-delivery';
import { TapTests } from './taps/tap-tests';
import { TapMaintenance } from './taps/tap-maintenance';
import { Taps } from './taps/taps';
import { UsageDays } from './usage/usage-days';
import { UsageQuery } from './usage/usage.query';

const providers = [
  ActivityLog,
  ActivityQuery,
  ActivityRetention,
  AuditChain,
  ChainBreaks,
  ChainReview,
  ChainStates,
  SealAge,
  SealWitness,
  Refusals,
  RecordRetention,
  RequestRecords,
  RequestRecordQuery,
  ChosenModelsQuery,
  LatencyQuery,
  RequestLogQuery,
  DeadLetters,
  TapDelivery,
  Taps,
  TapTests,
  TapMaintenance,
  UsageDays,
  UsageQuery,
];

@Module({ imports: [OutgoingModule], providers, exports: providers })
export class AuditModule {
  constructor(extensions: Extensions, database: Database) {
    const records = new DatabaseRecords(database);
    extensions.providePort('records.read', () => records);
  }
}
