export { AuditModule } from './audit.module';
export {
  type AttemptRecord,
  type Attribution,
  insertRequestRecords,
  type RequestRecord,
} from './request-record';
export { RequestRecords } from './request-records';
export { type RecordFilter, type RequestEntry, RequestRecordQuery } from './request-record-query';
