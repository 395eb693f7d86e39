/**
 * Series in the notation of `promtool test rules`, one value per minute: `0+60x600` rises by 60 per minute for ten
 * hours.
 */
export type SeriesValues = Readonly<Record<string, string>>;

/** The alert fires if these series replace healthy ones; `also` names alerts that must fire with it. */
export interface RuleTrial {
  readonly alert: string;
  readonly series: SeriesValues;
  readonly also?: readonly string[];
  readonly at?: string;
}

const on = (labels: string): string =>
  `job="switchboard",instance="a:9464"${labels === '' ? '' : `,${labels}`}`;
const series = (name: string, labels = ''): string => `${name}{${on(labels)}}`;
const always = (value: number | string): string => `${value}x600`;
/** Rises by this amount per second. */
const rising = (perSecond: number): string => `0+${perSecond * 60}x600`;
/** The usual value for 90 minutes, then the other one. */
const after = (usual: number | string, then: number | string): string => `${usual}x90 ${then}x510`;

const requests = (code: string, status = '5xx', model = 'm'): string =>
  series(
    'gateway_requests_total',
    `endpoint="chat",model="${model}",status_class="${status}",error_code="${code}"`,
  );
const attempts = (outcome: string): string =>
  series('gateway_upstream_attempts_total', `provider="p",model="m",region="",outcome="${outcome}"`);
const firstToken = (le: string): string =>
  series('gateway_time_to_first_token_seconds_bucket', `endpoint="chat",model="m",stream="true",le="${le}"`);
const upstream = (part: 'sum' | 'count'): string =>
  series(`gateway_upstream_duration_seconds_${part}`, 'provider="p",model="m"');
const oldestJob = (queue: string): string => series('gateway_jobs_oldest_seconds', `queue="${queue}"`);
const disk = (what: 'free' | 'size'): string => series(`gateway_disk_${what}_bytes`, 'folder="data"');
const GIB = 1024 ** 3;

/** A healthy node that serves one request per second. */
export const healthy: SeriesValues = {
  [series('up')]: always(1),
  [series('gateway_ready')]: always(1),
  [series('gateway_quarantined')]: always(0),
  [series('process_start_time_seconds')]: always(0),
  [requests('', '2xx')]: rising(1),
  [requests('capacity_exceeded')]: always(0),
  [requests('caller_left', '4xx')]: rising(0.01),
  [requests('invalid_request', '4xx')]: rising(0.02),
  [firstToken('1')]: rising(1),
  [firstToken('30')]: rising(1),
  [firstToken('+Inf')]: rising(1),
  [series('gateway_open_requests')]: always(20),
  [series('gateway_open_requests_limit')]: always(2_000),
  [series('gateway_broken_requests_total', 'status="408"')]: rising(0.01),
  [series('gateway_lease_valid')]: always(1),
  [series('gateway_lease_age_seconds')]: always(5),
  [series('gateway_journal_writable')]: always(1),
  [series('gateway_journal_oldest_seconds')]: always('0.1'),
  [series('gateway_journals_unread')]: always(0),
  [series('gateway_settlements_refused_total')]: always(0),
  [series('gateway_settlements_withdrawn_total')]: always(0),
  [series('gateway_money_differences_total')]: always(0),
  [series('gateway_webhook_events_total', 'type="t",outcome="applied"')]: rising(0.01),
  [attempts('answered')]: rising(1),
  [attempts('upstream_timeout')]: rising(0.01),
  [upstream('sum')]: rising(1),
  [upstream('count')]: rising(1),
  [series('gateway_circuit_state', 'provider="p",model="m",region=""')]: always(0),
  [series('gateway_credentials_refused', 'provider="p"')]: always(0),
  [series('nodejs_eventloop_lag_p99_seconds')]: always('0.012'),
  [series('gateway_event_loop_active_seconds_total')]: rising(0.3),
  [series('nodejs_heap_size_used_bytes')]: always(GIB / 8),
  [series('gateway_heap_limit_bytes')]: always(2 * GIB),
  [series('process_open_fds')]: always(100),
  [series('process_max_fds')]: always(1_024),
  [disk('free')]: always(50 * GIB),
  [disk('size')]: always(100 * GIB),
  [series('gateway_clock_ahead_seconds')]: always('-0.01'),
  [series('gateway_redis_up')]: always(1),
  [series('gateway_database_up')]: always(1),
  [series('gateway_database_round_trip_seconds')]: always('0.001'),
  [series('gateway_database_waiting', 'pool="service"')]: always(0),
  [series('gateway_database_server_connections')]: always(20),
  [series('gateway_database_server_connections_limit')]: always(97),
  [series('gateway_embedded_database_events_total', 'event="ended"')]: always(0),
  [series('gateway_workers_running')]: always(1),
  [series('gateway_job_success_due_timestamp_seconds', 'exported_job="taps"')]: '3600+60x600',
  [oldestJob('mail')]: always(0),
  [oldestJob('evaluation')]: always(0),
  [series('gateway_jobs_failed', 'queue="mail"')]: always(3),
  [series('gateway_audit_unsealed_seconds')]: always(1),
  [series('gateway_audit_chain_breaks')]: always(0),
  [series('gateway_audit_write_failures_total')]: always(0),
  [series('gateway_tap_oldest_seconds', 'tap="http/siem"')]: always(1),
  [series('gateway_tap_records_total', 'tap="http/siem",outcome="dead"')]: always(0),
  [series('gateway_backup_success_timestamp_seconds')]: always(0),
  [series('gateway_backup_verified_timestamp_seconds')]: always(0),
};

export const trials: readonly RuleTrial[] = [
  { alert: 'RequestsFailing', series: { [requests('internal_error')]: rising(0.1) } },
  {
    alert: 'CapacityExceeded',
    series: { [requests('capacity_exceeded')]: rising(0.2) },
    also: ['RequestsFailing'],
  },
  { alert: 'OpenRequestsNearLimit', series: { [series('gateway_open_requests')]: after(20, 1_700) } },
  { alert: 'FirstTokensSlow', series: { [firstToken('1')]: rising(0.5) } },
  { alert: 'CallersLeave', series: { [requests('caller_left', '4xx')]: rising(0.5) } },
  { alert: 'RequestsMalformed', series: { [requests('invalid_request', '4xx')]: rising(2) } },
  { alert: 'SendersSlow', series: { [series('gateway_broken_requests_total', 'status="408"')]: rising(5) } },
  { alert: 'StreamsBreak', series: { [requests('stream_interrupted', '5xx')]: rising(0.04) } },
  { alert: 'MoneyLeaseInvalid', series: { [series('gateway_lease_valid')]: after(1, 0) } },
  { alert: 'MoneyLeaseNotRenewed', series: { [series('gateway_lease_age_seconds')]: after(5, 15) } },
  { alert: 'JournalNotWritable', series: { [series('gateway_journal_writable')]: after(1, 0) } },
  { alert: 'SettlementsWait', series: { [series('gateway_journal_oldest_seconds')]: after(0, 90) } },
  { alert: 'SettlementsRefused', series: { [series('gateway_settlements_refused_total')]: after(0, 1) } },
  { alert: 'AnswersNotCharged', series: { [series('gateway_settlements_withdrawn_total')]: after(0, 4) } },
  { alert: 'JournalUnread', series: { [series('gateway_journals_unread')]: after(0, 1) } },
  { alert: 'MoneyDoesNotAddUp', series: { [series('gateway_money_differences_total')]: after(0, 2) } },
  {
    alert: 'UsageInDoubt',
    series: { [series('gateway_doubtful_usage_total', 'provider="p",model="m"')]: '_x90 1x510' },
  },
  {
    alert: 'PaymentEventsFailing',
    series: { [series('gateway_webhook_events_total', 'type="t",outcome="quarantined"')]: '_x90 1x510' },
  },
  {
    alert: 'LaneOpen',
    series: { [series('gateway_circuit_state', 'provider="p",model="m",region=""')]: after(0, 2) },
  },
  { alert: 'SupplierFailing', series: { [attempts('upstream_timeout')]: rising(2) } },
  { alert: 'SupplierSlow', series: { [upstream('sum')]: '0+60x110 6600+600x490' } },
  {
    alert: 'CredentialRefused',
    series: { [series('gateway_credentials_refused', 'provider="p"')]: after(0, 2) },
  },
  { alert: 'NodeDown', series: { [series('up')]: after(1, 0) } },
  { alert: 'NodeNotReady', series: { [series('gateway_ready')]: after(1, 0) } },
  { alert: 'Quarantined', series: { [series('gateway_quarantined')]: after(0, 1) } },
  {
    alert: 'NodeRestarts',
    series: { [series('process_start_time_seconds')]: '0x95 5700x5 6000x5 6300x495' },
  },
  {
    alert: 'EventLoopBlocked',
    series: { [series('nodejs_eventloop_lag_p99_seconds')]: after('0.01', '0.4') },
  },
  { alert: 'EventLoopBusy', series: { [series('gateway_event_loop_active_seconds_total')]: rising(0.97) } },
  { alert: 'HeapNearLimit', series: { [series('nodejs_heap_size_used_bytes')]: always(1.9 * GIB) } },
  { alert: 'FileDescriptorsLow', series: { [series('process_open_fds')]: after(100, 1_000) } },
  { alert: 'DiskNearlyFull', series: { [disk('free')]: always(5 * GIB) } },
  { alert: 'DiskFills', series: { [disk('free')]: `${39 * GIB}-${0.04 * GIB}x600` }, at: '8h' },
  { alert: 'ClockWrong', series: { [series('gateway_clock_ahead_seconds')]: after(0, '-3600') } },
  { alert: 'RedisDown', series: { [series('gateway_redis_up')]: after(1, 0) } },
  { alert: 'DatabaseDown', series: { [series('gateway_database_up')]: after(1, 0) } },
  { alert: 'DatabaseSlow', series: { [series('gateway_database_round_trip_seconds')]: after('0.001', 1) } },
  {
    alert: 'DatabasePoolExhausted',
    series: { [series('gateway_database_waiting', 'pool="service"')]: after(0, 12) },
  },
  {
    alert: 'DatabaseConnectionsLow',
    series: { [series('gateway_database_server_connections')]: after(20, 90) },
  },
  {
    alert: 'EmbeddedDatabaseEnds',
    series: { [series('gateway_embedded_database_events_total', 'event="ended"')]: '0x115 1x485' },
  },
  {
    alert: 'JobOverdue',
    series: { [series('gateway_job_success_due_timestamp_seconds', 'exported_job="taps"')]: always(3_600) },
  },
  { alert: 'QueueStuck', series: { [oldestJob('evaluation')]: after(0, 1_000) } },
  { alert: 'MailsWait', series: { [oldestJob('mail')]: after(0, 700) } },
  { alert: 'JobsGivenUp', series: { [series('gateway_jobs_failed', 'queue="mail"')]: after(3, 5) } },
  { alert: 'NoWorkers', series: { [series('gateway_workers_running')]: after(1, 0) } },
  { alert: 'SealLate', series: { [series('gateway_audit_unsealed_seconds')]: after(1, 90) } },
  { alert: 'AuditChainBroken', series: { [series('gateway_audit_chain_breaks')]: after(0, 1) } },
  { alert: 'RefusalsNotCounted', series: { [series('gateway_audit_write_failures_total')]: rising(0.1) } },
  {
    alert: 'TapBehind',
    series: { [series('gateway_tap_oldest_seconds', 'tap="http/siem"')]: after(1, 400) },
  },
  {
    alert: 'StorageLimited',
    series: { [series('gateway_storage_limited_total', 'kind="idempotent_answers"')]: after(0, 2_000) },
  },
  {
    alert: 'TapDeadLetters',
    series: { [series('gateway_tap_records_total', 'tap="http/siem",outcome="dead"')]: after(0, 3) },
  },
  {
    alert: 'LogNotArchived',
    series: { [series('gateway_backup_covered_timestamp_seconds')]: always(-1_000) },
  },
  { alert: 'BackupOld', series: { [series('gateway_backup_success_timestamp_seconds')]: always(-100_000) } },
  {
    alert: 'BackupNotVerified',
    series: { [series('gateway_backup_verified_timestamp_seconds')]: always(-700_000) },
  },
];
