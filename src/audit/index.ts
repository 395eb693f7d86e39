export {
  actionNames,
  type ActionName,
  actionTextKey,
  objectTextKey,
  objectTypes,
  type ObjectType,
} from './activity/action-names';
export {
  type ActivityActor,
  type ActivityRequest,
  type Concerned,
  type NewActivity,
  systemActor,
} from './activity/activity';
export { ActivityLog } from './activity/activity-log';
export {
  type ActivityDay,
  type ActivityEntry,
  type ActivityFilter,
  ActivityQuery,
} from './activity/activity-query';
export { ActivityRetention } from './activity/activity-retention';
export { type Changes, changesOf } from './activity/changes';
export { AuditModule } from './audit.module';
export { insertRequestRecords } from './insert-records';
export { recordFields, usageOfRow, usageColumns } from './record-columns';
export type { AttemptRecord, Attribution, RecordFacts, RequestRecord } from './request-record';
export { type RefusalHour, Refusals } from './refusals';
export { RequestRecords } from './request-records';
export { type RecordFilter, type RequestEntry, RequestRecordQuery } from './request-record-query';
export { readRecord, readRecords, renamedRecord, type WrittenRecord, writtenRecord } from './written-record';
