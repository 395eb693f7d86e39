export {
  actionNames,
  type ActionName,
  actionText,
  type ExtensionAction,
  loggedAction,
  type LoggedAction,
  objectTextKey,
  objectTypes,
  type ObjectType,
} from './activity/action-names';
export { type ActivityActor, type ActivitySubject, type NewActivity, systemActor } from './activity/activity';
export { ActivityLog } from './activity/activity-log';
export {
  type ActivityDays,
  type ActivityEntry,
  type ActivityFilter,
  ActivityQuery,
} from './activity/activity.query';
export { ActivityRetention } from './activity/activity-retention';
export { type Changes, changesOf } from './activity/changes';
export { AuditChain } from './chain/audit-chain';
export { ChainStates } from './chain/chain-state';
export { SEAL_LATE_MS, SealAge } from './chain/seal-age';
export { breakText, type ChainBreak, ChainBreaks } from './chain/review/chain-breaks';
export { ChainReview, type ReviewSummary } from './chain/review/chain-review';
export { headsIn } from './chain/anchor-file';
export { chainName } from './chain/verify/match-strays';
export type { Finding } from './chain/verify/findings';
export { verifyExport, type ExportVerification } from './chain/verify/verify-export';
export { AuditModule } from './audit.module';
export { billedColumns, billedFields, toCell, priceFactorOf } from './billed-fields';
export { type ChosenModel, ChosenModelsQuery } from './chosen-models.query';
export { type Latencies, LatencyQuery } from './latency.query';
export { insertRequestRecords } from './insert-records';
export { recordFields, usageOfRow, usageColumns } from './record-columns';
export type {
  AttemptRecord,
  Attribution,
  GateRecord,
  GateStage,
  RecordAttributes,
  RequestRecord,
} from './request-record';
export { settledRecordOf } from './settled-record';
export { Refusals } from './refusals';
export { DatabaseRecords } from './records-port';
export { RequestRecords } from './request-records';
export { type RecordFilter, type RequestEntry, RequestRecordQuery } from './request-record.query';
export {
  readRecord,
  readRecords,
  withRequestId,
  type WrittenRecord,
  serialiseRecord,
} from './written-record';
export { type RequestLogFilter, type StatusClass, statusClasses } from './request-log/log-filter';
export { type LoggedRequest, type RequestLogPage, RequestLogQuery } from './request-log/request-log.query';
export { withinRecordScope } from './record-scope';
export { SqlParameters } from './sql-parameters';
export { type UsageReport, type UsageGroup, UsageQuery } from './usage/usage.query';
export {
  type UsageBucket,
  usageBuckets,
  type UsageGrouping,
  usageGroupings,
  type UsageRequest,
} from './usage/usage-request';
export { presentUsage, usageFileColumns, usageFileRows } from './usage/present-usage';
export { periodOf, toUsageRequest, type UsageParameterValues, zoneOf } from './usage/parse-usage-request';
export { DeadLetters, type DeadLetter, type TapState } from './taps/dead-letters';
export { TapDelivery } from './taps/tap-delivery';
export { Taps } from './taps/taps';
export { type TapTest, TapTests } from './taps/tap-tests';
export type { RegisteredTap } from './taps/registered-tap';
export { UsageDays } from './usage/usage-days';
export type { UsageChoice, UsageChoices } from './usage/usage-choices';
export { allTokens, NO_SUMS, p95Of, type UsageSums } from './usage/usage-sums';
