import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Pool } from 'pg';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { monotonicMs, withDeadline } from '../../kernel';
import { errorCode } from '../config';
import { Metrics } from '../metrics';
import { Database } from './database';
import { readPool } from './pool-gauges';

/** A scrape waits for it. */
const ANSWER_DEADLINE_MS = 2_000;

interface Look {
  readonly isWritable: boolean;
  readonly connections: number;
  readonly most: number;
}

/** Statistics and settings that any role may read. */
const LOOK = `
  SELECT current_setting('transaction_read_only') = 'off' AS "isWritable",
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS most`;

/** Looks at the database whenever the metrics are read, by the pool that requests use. */
@Injectable()
export class DatabaseGauges implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    const pool = (this.database.source.driver as PostgresDriver).master as Pool;
    this.metrics.beforeRead(() => {
      readPool(this.metrics, 'service', pool);
      return this.look();
    });
  }

  private async look(): Promise<void> {
    const { metrics } = this;
    const askedAt = monotonicMs();
    const code = await this.ask().then(
      () => null,
      (error: unknown) => errorCode(error),
    );
    metrics.databaseRoundTrip.set({}, (monotonicMs() - askedAt) / 1_000);
    metrics.databaseUp.set({}, code === null ? 1 : 0);
    if (code === null) return;
    metrics.databaseFailures.inc({ code });
    metrics.databaseLastFailure.set({}, Date.now() / 1_000);
  }

  private async ask(): Promise<void> {
    const [look] = await withDeadline(ANSWER_DEADLINE_MS, this.database.query<Look>(LOOK), () =>
      coded('late'),
    );
    if (look === undefined) return;
    this.metrics.databaseServerConnections.set({}, look.connections);
    this.metrics.databaseServerLimit.set({}, look.most);
    if (!look.isWritable) throw coded('read_only');
  }
}

const coded = (code: string): Error => Object.assign(new Error(code), { code });
