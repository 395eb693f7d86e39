import pg from 'pg';
import { DataSource, type EntitySchema, type MigrationInterface } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions';
import { MINUTE_MS, parseJsonText } from '../../kernel';
import { applicationUrl, withSessionSettings } from './connection-url';
import { resilientPoolOptions } from './pool-options';

export type Entity = (new () => object) | EntitySchema;
export type Migration = new () => MigrationInterface;

// The names in a document can come from a caller.
for (const type of [pg.types.builtins.JSON, pg.types.builtins.JSONB])
  pg.types.setTypeParser(type, parseJsonText);

const statementTimeoutMs = 30_000;
/** A new connection must first learn the partitions, and pages opened seconds apart would all wait for that. */
const poolIdleMs = 5 * MINUTE_MS;
/** A forgotten transaction holds locks and holds back VACUUM. */
const idleInTransactionTimeoutMs = MINUTE_MS;

/**
 * Sums over many rows are grouped in memory instead of sorted on disk. Compiling the short statements, or starting
 * parallel workers, takes longer than running them.
 */
const querySettings = {
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  work_mem: '16MB',
  hash_mem_multiplier: 4,
};

export interface ServiceDataSourceOptions {
  url: string;
  entities: readonly Entity[];
  poolSize: number;
}

/** The service connects as the application role, which never changes the schema. */
export function serviceDataSourceOptions(options: ServiceDataSourceOptions): PostgresDataSourceOptions {
  return {
    ...common,
    url: withSessionSettings(applicationUrl(options.url), {
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
      ...querySettings,
    }),
    applicationName: 'switchboard',
    entities: [...options.entities],
    poolSize: options.poolSize,
    extra: { ...resilientPoolOptions, idleTimeoutMillis: poolIdleMs },
  };
}

/** Name in pg_stat_activity. */
export const MIGRATIONS_APPLICATION = 'switchboard-migrations';

/** Migrations connect as the owner of the schema, without a time limit on a statement. */
export function migrationDataSource(
  url: string,
  migrations: readonly Migration[],
  entities: readonly Entity[] = [],
): DataSource {
  return new DataSource({
    ...common,
    url,
    applicationName: MIGRATIONS_APPLICATION,
    entities: [...entities],
    migrations: [...migrations],
    migrationsTransactionMode: 'each',
    poolSize: 2,
  });
}

const common = {
  type: 'postgres',
  // Without this, TypeORM looks for the driver on disk.
  driver: pg,
  synchronize: false,
  installExtensions: false,
  connectTimeoutMS: 10_000,
  extra: resilientPoolOptions,
  // TypeORM would log statements with their values, bypassing redaction; the thrown error is sufficient.
  logging: false,
  invalidWhereValuesBehavior: { null: 'throw', undefined: 'throw' },
} as const satisfies Partial<PostgresDataSourceOptions>;
