import { MoneyMetrics } from './money-metrics';

/**
 * Every published metric. Keys, users and organisations are not labels: their number is unbounded, and metrics must not
 * reveal who did what.
 */
export class Metrics extends MoneyMetrics {
  readonly requests = this.counter(
    'gateway_requests_total',
    'Requests answered; `endpoint` is empty where the key was not accepted.',
    ['endpoint', 'model', 'status_class', 'error_code'],
  );
  readonly requestDuration = this.histogram('gateway_request_duration_seconds', 'Time to the last byte.', [
    'endpoint',
    'model',
    'stream',
  ]);
  readonly timeToFirstToken = this.histogram(
    'gateway_time_to_first_token_seconds',
    'Time to the first token of a stream.',
    ['endpoint', 'model', 'stream'],
  );
  readonly upstreamAttempts = this.counter('gateway_upstream_attempts_total', 'Calls to suppliers.', [
    'provider',
    'model',
    'region',
    'outcome',
  ]);
  readonly upstreamDuration = this.histogram(
    'gateway_upstream_duration_seconds',
    'Duration of supplier calls.',
    ['provider', 'model'],
  );
  readonly failovers = this.counter('gateway_failovers_total', 'Moves to another supplier.', [
    'from',
    'to',
    'reason',
  ]);
  readonly circuitState = this.gauge('gateway_circuit_state', 'Of a lane: 0 closed, 1 half open, 2 open.', [
    'provider',
    'model',
    'region',
  ]);
  readonly tokens = this.counter('gateway_tokens_total', 'Tokens counted.', ['model', 'type']);
  readonly costUsd = this.counter('gateway_cost_usd_total', 'Money charged, on the side of the `customer`.', [
    'model',
    'provider',
    'side',
  ]);
  readonly rejections = this.counter(
    'gateway_rejections_total',
    'Requests refused before a supplier was asked.',
    ['reason'],
  );
  readonly gateVerdicts = this.counter('gateway_gate_verdicts_total', 'Verdicts of gates of extensions.', [
    'gate',
    'stage',
    'verdict',
  ]);
  readonly gateDuration = this.histogram(
    'gateway_gate_duration_seconds',
    'Time until a gate of an extension gave its verdict.',
    ['gate', 'stage'],
  );
  readonly slowMasks = this.counter(
    'gateway_slow_masks_total',
    'Looks of masks at a text that took longer than the deadline of their gate.',
    ['gate'],
  );
  readonly streamsActive = this.gauge('gateway_streams_active', 'Streams open now.', ['endpoint']);
  readonly unpricedFees = this.counter(
    'gateway_unpriced_fees_total',
    'Answers whose supplier billed something that their price does not know.',
    ['provider', 'model'],
  );
  readonly doubtfulUsage = this.counter(
    'gateway_doubtful_usage_total',
    'Reports of usage that contradict themselves; the larger figures were charged, up to the hold.',
    ['provider', 'model'],
  );
  readonly ignoredUsageDetails = this.counter(
    'gateway_ignored_usage_details_total',
    'Details of usage reports that could not be used, such as a negative count; the rest was charged.',
    ['provider', 'model', 'field'],
  );
  readonly excessUsage = this.counter(
    'gateway_excess_usage_total',
    'Reports of usage beyond the request or its hold; the excess is recorded and was not charged.',
    ['provider', 'model', 'kind'],
  );
  readonly usageMissing = this.counter('gateway_usage_missing_total', 'Answers that ended without usage.', [
    'provider',
  ]);
  readonly settlementsPending = this.gauge(
    'gateway_settlements_pending',
    'Journalled, not yet committed.',
    [],
  );
  readonly walletHoldsUsd = this.gauge('gateway_wallet_holds_usd', 'Money held for running requests.', []);
  readonly webhookEvents = this.counter(
    'gateway_webhook_events_total',
    'Events of the payment processor: `applied`, `ignored`, `repeated`, `quarantined` or `failed`.',
    ['type', 'outcome'],
  );
  readonly auditWriteFailures = this.counter(
    'gateway_audit_write_failures_total',
    'Audit rows not written.',
    [],
  );
  readonly auditChainBreaks = this.gauge(
    'gateway_audit_chain_breaks',
    'Places of the audit chain that do not fit and were not examined yet.',
    [],
  );
  readonly auditUnsealedSeconds = this.gauge(
    'gateway_audit_unsealed_seconds',
    'How long the oldest entry of the activity log waits for its seal; 0 where none does.',
    [],
  );
  readonly storageLimited = this.counter(
    'gateway_storage_limited_total',
    'Stored contents removed early, or refused, because a key or user had reached its storage limit.',
    ['kind'],
  );
  readonly jobs = this.counter('gateway_jobs_total', 'Attempts at queued jobs.', ['queue', 'outcome']);
  readonly deadJobs = this.counter('gateway_dead_jobs_total', 'Jobs given up after their last attempt.', [
    'queue',
  ]);
  readonly jobSuccess = this.gauge(
    'gateway_job_last_success_timestamp_seconds',
    'When a repeating job last succeeded on any node.',
    ['job'],
  );
  readonly jobSuccessDue = this.gauge(
    'gateway_job_success_due_timestamp_seconds',
    'When a repeating job has to have succeeded again.',
    ['job'],
  );
  readonly jobsWaiting = this.gauge('gateway_jobs_waiting', 'Jobs of a queue that no worker has taken.', [
    'queue',
  ]);
  readonly tapRecords = this.counter(
    'gateway_tap_records_total',
    'Records of settled requests for taps; `failed` counts attempts, `dead` dead letters, `dropped` what left undelivered.',
    ['tap', 'outcome'],
  );
  readonly tapBacklog = this.gauge('gateway_tap_backlog', 'Entries that wait for a tap.', ['tap']);
  readonly tapOldestSeconds = this.gauge(
    'gateway_tap_oldest_seconds',
    'How long the oldest entry waits for a tap; 0 where none does.',
    ['tap'],
  );
  readonly clockAhead = this.gauge(
    'gateway_clock_ahead_seconds',
    "How far the machine's clock is ahead of the database's.",
    [],
  );
  readonly alertsFiring = this.gauge(
    'gateway_alerts_firing',
    'Alerts that are not over, acknowledged or not, the same on every node.',
    ['kind', 'severity'],
  );
  readonly alertDeliveries = this.counter(
    'gateway_alert_deliveries_total',
    'Messages of alerts by kind of channel; `retried` counts attempts, `failed` those given up, `dropped` those overtaken.',
    ['channel', 'outcome'],
  );
  readonly buildInfo = this.gauge('gateway_build_info', 'Always 1; the labels say what runs.', [
    'version',
    'commit',
  ]);
  readonly telemetrySpans = this.counter(
    'gateway_telemetry_spans_total',
    'Spans of traces; `dropped` left a full queue, `failed` their receiver did not take.',
    ['outcome'],
  );
  readonly telemetryExports = this.counter(
    'gateway_telemetry_exports_total',
    'Deliveries by OpenTelemetry to its receiver.',
    ['signal', 'outcome'],
  );
  readonly quarantined = this.gauge(
    'gateway_quarantined',
    '1 where this node serves nobody, because the installation was restored and is not released yet; else 0.',
    [],
  );
}
