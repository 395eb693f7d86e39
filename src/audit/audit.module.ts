import { Module } from '@nestjs/common';
import { ActivityLog } from './activity/activity-log';
import { ActivityQuery } from './activity/activity-query';
import { ActivityRetention } from './activity/activity-retention';
import { Refusals } from './refusals';
import { RecordRetention } from './record-retention';
import { RequestRecordQuery } from './request-record-query';
import { RequestRecords } from './request-records';

const providers = [
  ActivityLog,
  ActivityQuery,
  ActivityRetention,
  Refusals,
  RecordRetention,
  RequestRecords,
  RequestRecordQuery,
];

@Module({ providers, exports: providers })
export class AuditModule {}
