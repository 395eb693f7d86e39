import { NodeMetrics } from './node-metrics';

export abstract class MoneyMetrics extends NodeMetrics {
  readonly leaseAge = this.gauge(
    'gateway_lease_age_seconds',
    'Time since the lease was last renewed under which this node holds money.',
    [],
  );
  readonly leaseValid = this.gauge(
    'gateway_lease_valid',
    '1 where the lease lets this node admit requests, else 0.',
    [],
  );
  readonly leaseFailures = this.counter(
    'gateway_lease_renewal_failures_total',
    'Renewals of the lease that failed.',
    [],
  );
  readonly leaseLapses = this.counter(
    'gateway_lease_lapses_total',
    'Leases that ran out and were taken back by another node.',
    [],
  );
  readonly drawnUsd = this.gauge(
    'gateway_drawn_usd',
    'What this node took out of limits beforehand: `free`, `held` for running requests, `owed` by settled ones. A request counts once in each of its scopes.',
    ['scope', 'state'],
  );
  readonly journalBytes = this.gauge('gateway_journal_bytes', 'Size of the journal of this run.', []);
  readonly journalOldest = this.gauge(
    'gateway_journal_oldest_seconds',
    'Age of the oldest settlement that the database does not have; 0 where there is none.',
    [],
  );
  readonly journalWritable = this.gauge(
    'gateway_journal_writable',
    '1 where the journal can be written, else 0.',
    [],
  );
  readonly journalsUnread = this.gauge(
    'gateway_journals_unread',
    'Dead nodes whose journal was not read: what they took out of limits stays held.',
    [],
  );
  readonly settlementFailures = this.counter(
    'gateway_settlement_failures_total',
    'Attempts to write settlements into the database that failed and are repeated.',
    [],
  );
  readonly settlementsRefused = this.counter(
    'gateway_settlements_refused_total',
    'Settlements that the database refused for good and that were set aside in a file.',
    [],
  );
  readonly settlementsWithdrawn = this.counter(
    'gateway_settlements_withdrawn_total',
    'Answers that could not be recorded in time and are not charged.',
    [],
  );
  readonly moneyDifferences = this.counter(
    'gateway_money_differences_total',
    'Places where books did not add up when they were verified.',
    [],
  );
  readonly credentialsRefused = this.gauge(
    'gateway_credentials_refused',
    'Lanes of a supplier whose latest call was refused because of our credential or account.',
    ['provider'],
  );
}
