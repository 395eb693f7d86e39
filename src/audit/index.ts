export { AuditModule } from './audit.module';
export {
  type AttemptRecord,
  type Attribution,
  insertRequestRecords,
  type RequestRecord,
  type TokenColumns,
  type UsageSource,
} from './request-record';
export { RequestRecords } from './request-records';
