export { AuditModule } from './audit.module';
export { insertRequestRecords } from './insert-records';
export { recordFields, usageOfRow, usageColumns } from './record-columns';
export type { AttemptRecord, Attribution, RequestRecord } from './request-record';
export { type RefusalHour, Refusals } from './refusals';
export { RequestRecords } from './request-records';
export { type RecordFilter, type RequestEntry, RequestRecordQuery } from './request-record-query';
export {
  readRecord,
  readRecords,
  type RecordFacts,
  renamedRecord,
  type WrittenRecord,
  writtenRecord,
} from './written-record';
