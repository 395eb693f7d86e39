import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Pool } from 'pg';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { monotonicMs, withDeadline } from '../../kernel';
import { errorCode } from '../config';
import { Metrics } from '../metrics';
import { Database } from './database';
import { updatePoolGauges } from './pool-gauges';

/** A scrape waits for the response. */
const RESPONSE_TIMEOUT_MS = 2_000;

interface DatabaseStatus {
  readonly isWritable: boolean;
  readonly connections: number;
  readonly most: number;
}

/** Statistics and settings that any role can read. */
const STATUS_QUERY = `
  SELECT current_setting('transaction_read_only') = 'off' AS "isWritable",
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS most`;

/** Checks the database whenever the metrics are read, through the pool that requests use. */
@Injectable()
export class DatabaseGauges implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    const pool = (this.database.source.driver as PostgresDriver).master as Pool;
    this.metrics.beforeRead(() => {
      updatePoolGauges(this.metrics, 'service', pool);
      return this.updateGauges();
    });
  }

  private async updateGauges(): Promise<void> {
    const { metrics } = this;
    const startedAt = monotonicMs();
    const code = await this.readStatus().then(
      () => null,
      (error: unknown) => errorCode(error),
    );
    metrics.databaseRoundTrip.set({}, (monotonicMs() - startedAt) / 1_000);
    metrics.databaseUp.set({}, code === null ? 1 : 0);
    if (code === null) return;
    metrics.databaseFailures.inc({ code });
    metrics.databaseLastFailure.set({}, Date.now() / 1_000);
  }

  private async readStatus(): Promise<void> {
    const [status] = await withDeadline(
      RESPONSE_TIMEOUT_MS,
      this.database.query<DatabaseStatus>(STATUS_QUERY),
      () => codedError('late'),
    );
    if (status === undefined) return;
    this.metrics.databaseServerConnections.set({}, status.connections);
    this.metrics.databaseServerLimit.set({}, status.most);
    if (!status.isWritable) throw codedError('read_only');
  }
}

const codedError = (code: string): Error => Object.assign(new Error(code), { code });
