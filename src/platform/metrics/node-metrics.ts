import { DeclaredMetrics } from './declared-metrics';
import { EMBEDDED_EVENTS } from './embedded-events';

export abstract class NodeMetrics extends DeclaredMetrics {
  readonly ready = this.gauge('gateway_ready', '1 where /health/ready answers 200, else 0.', []);
  readonly openRequests = this.gauge('gateway_open_requests', 'Requests under way.', []);
  readonly openRequestsLimit = this.gauge(
    'gateway_open_requests_limit',
    'Requests that may be under way (`OPEN_REQUESTS_LIMIT`).',
    [],
  );
  readonly connections = this.gauge('gateway_connections', 'Open connections of callers.', []);
  readonly brokenRequests = this.counter(
    'gateway_broken_requests_total',
    'Requests that were no valid HTTP, or did not come in time, by the status of their refusal.',
    ['status'],
  );
  readonly eventLoopActive = this.counter(
    'gateway_event_loop_active_seconds_total',
    'Time in which the event loop had something to do: its rate is the utilisation of the one core that it has.',
    [],
  );
  readonly heapLimit = this.gauge(
    'gateway_heap_limit_bytes',
    'The process ends when its heap would be larger.',
    [],
  );
  readonly diskFree = this.gauge('gateway_disk_free_bytes', 'Room for us on the volume of a folder.', [
    'folder',
  ]);
  readonly diskSize = this.gauge('gateway_disk_size_bytes', 'Size of the volume of a folder.', ['folder']);
  readonly databaseUp = this.gauge(
    'gateway_database_up',
    '1 where the database answers in time and may be written, else 0.',
    [],
  );
  readonly databaseRoundTrip = this.gauge(
    'gateway_database_round_trip_seconds',
    'Time of the latest small question to the database, with the wait for a connection.',
    [],
  );
  readonly databaseFailures = this.counter(
    'gateway_database_failures_total',
    'Looks at the database that failed, by the code of the error; `read_only` where it may only be read.',
    ['code'],
  );
  readonly databaseLastFailure = this.gaugeOnceSet(
    'gateway_database_last_failure_timestamp_seconds',
    'When a look at the database last failed.',
  );
  readonly databaseConnections = this.gauge(
    'gateway_database_connections',
    'Connections of this node to the database, `used` and `idle`, by pool: `service`, `queue`, `extension/NAME`.',
    ['pool', 'state'],
  );
  readonly databasePoolLimit = this.gauge('gateway_database_pool_limit', 'Connections a pool may have.', [
    'pool',
  ]);
  readonly databaseWaiting = this.gauge(
    'gateway_database_waiting',
    'Those who wait for a connection of a pool.',
    ['pool'],
  );
  readonly databaseServerConnections = this.gauge(
    'gateway_database_server_connections',
    'Connections that the database server has, of all nodes and of others.',
    [],
  );
  readonly databaseServerLimit = this.gauge(
    'gateway_database_server_connections_limit',
    'Connections that the database server lets us have, beside those it reserves.',
    [],
  );
  readonly embeddedDatabaseEvents = this.counter(EMBEDDED_EVENTS.name, EMBEDDED_EVENTS.help, ['event']);
  readonly redisUp = this.gaugeOnceSet(
    'gateway_redis_up',
    '1 where Redis answers in time, else 0; absent without `REDIS_URL`.',
  );
  readonly redisRoundTrip = this.gaugeOnceSet(
    'gateway_redis_round_trip_seconds',
    'Time of the latest answer of Redis.',
  );
  readonly workersRunning = this.gauge(
    'gateway_workers_running',
    '1 where this node takes jobs; 0 with `WORKERS=off`, or while its clock is wrong.',
    [],
  );
  readonly jobsDelayed = this.gauge(
    'gateway_jobs_delayed',
    'Jobs of a queue that wait for their time, such as the next try after a failure.',
    ['queue'],
  );
  readonly jobsFailed = this.gauge('gateway_jobs_failed', 'Jobs given up that are still kept.', ['queue']);
  readonly jobsOldest = this.gauge(
    'gateway_jobs_oldest_seconds',
    'Age of the oldest job of a queue that is not done; 0 where there is none.',
    ['queue'],
  );
  readonly backupSuccess = this.gaugeOnceSet(
    'gateway_backup_success_timestamp_seconds',
    'When the newest complete backup was made; 0 where the target does not say, absent where the service makes none.',
  );
  readonly backupVerified = this.gaugeOnceSet(
    'gateway_backup_verified_timestamp_seconds',
    'When a backup was last restored for a trial and verified.',
  );
  readonly backupCovered = this.gaugeOnceSet(
    'gateway_backup_covered_timestamp_seconds',
    'Until when the archived log reaches: what was committed later would be lost with the machine.',
  );
  readonly backupWaiting = this.gaugeOnceSet(
    'gateway_backup_segments_waiting',
    'Segments of the log that wait to be shipped to BACKUP_TARGET.',
  );
}
