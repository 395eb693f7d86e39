import { setTimeout as delay } from 'node:timers/promises';
import { LATEST_SCHEMA_VERSION, runMigrations as runQueueMigrations } from 'bullmq';
import { Client } from 'pg';
import { monotonicMs } from '../../kernel';
import { applicationRole } from './connection-url';
import { type Migration, migrationDataSource, MIGRATIONS_APPLICATION } from './data-source';
import { areExtensionsCurrent, type InstalledTables, migrateExtensions } from './migrate-extensions';
import { type ReportProgress, runMigrations } from './run-migrations';

export type { MigrationProgress, ReportProgress } from './run-migrations';

/** An arbitrary number; every node has to use the same. */
const migrationLock = 5_719_024;
const defaultDeadlineMs = 300_000;
const LOCK_POLL_MS = 100;

export interface MigrateOptions {
  /** URL of a role that can change the schema. */
  url: string;
  /** URL with the login of the service, if it is another one. */
  serviceUrl?: string;
  migrations: readonly Migration[];
  /** True if the queue is in this database, that is, without Redis. */
  queue: boolean;
  extensions?: InstalledTables;
  deadlineMs?: number;
  report?: ReportProgress;
}

/**
 * Brings the database up to date. Nodes that start at once take turns under an advisory lock, which the server releases
 * when its holder dies.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const client = new Client({
    connectionString: options.url,
    application_name: 'switchboard-migration-lock',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { extensions = { tables: [], masterKey: '' } } = options;
    if ((await isCurrent(client, options)) && (await areExtensionsCurrent(client, options.url, extensions)))
      return;
    await acquireLock(client, options.deadlineMs ?? defaultDeadlineMs);
    const source = await migrationDataSource(options.url, options.migrations).initialize();
    try {
      const names = options.migrations.map(({ name }) => name);
      await runMigrations(source, names, options.report ?? (() => undefined));
    } finally {
      await source.destroy();
    }
    if (options.queue) await migrateQueue(client);
    await admitService(client, options.serviceUrl ?? options.url);
    await migrateExtensions(options.url, extensions);
  } finally {
    await client.end();
  }
}

/**
 * Most starts find nothing to do, and see that without the lock and without a second connection. Anything uncertain
 * counts as not current.
 */
async function isCurrent(
  client: Client,
  { migrations, queue, url, serviceUrl }: MigrateOptions,
): Promise<boolean> {
  const queueState = `SELECT max(version) FROM bullmq.migration
    WHERE has_schema_privilege('${applicationRole}', 'bullmq', 'USAGE')`;
  try {
    const { rows } = await client.query<{ names: string[]; queue: number | null; admitted: boolean }>(
      `SELECT ARRAY(SELECT name::text FROM migrations) AS names, ${queue ? `(${queueState})` : 'NULL'} AS queue,
              ${admittedCondition} AS admitted`,
      [loginOf(serviceUrl ?? url)],
    );
    const names = new Set(rows[0]?.names);
    return (
      migrations.every(({ name }) => names.has(name)) &&
      (!queue || rows[0]?.queue === LATEST_SCHEMA_VERSION) &&
      rows[0]?.admitted === true
    );
  } catch {
    return false;
  }
}

/**
 * Polls for the lock. A statement that waits for it would hold a snapshot, and the other node's concurrent index
 * build waits for every snapshot.
 */
async function acquireLock(client: Client, deadlineMs: number): Promise<void> {
  const startedMs = monotonicMs();
  while (monotonicMs() - startedMs < deadlineMs) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      migrationLock,
    ]);
    if (rows[0]?.taken) return;
    await delay(Math.min(LOCK_POLL_MS, deadlineMs));
  }
  throw new Error(
    `Another node has been migrating this database for ${Math.round(deadlineMs / 1000)} s. ` +
      `Look at it first: in pg_stat_activity it is called "${MIGRATIONS_APPLICATION}".`,
  );
}

async function migrateQueue(client: Client): Promise<void> {
  await runQueueMigrations(client);
  await client.query(`
    GRANT USAGE ON SCHEMA bullmq TO ${applicationRole};
    GRANT ALL ON ALL TABLES IN SCHEMA bullmq TO ${applicationRole};
    GRANT ALL ON ALL SEQUENCES IN SCHEMA bullmq TO ${applicationRole};
    GRANT ALL ON ALL FUNCTIONS IN SCHEMA bullmq TO ${applicationRole};
  `);
}

const loginOf = (url: string): string => decodeURIComponent(new URL(url).username);

/**
 * Since PostgreSQL 16, a member can use a role only if that was granted too. Without a login there is nothing to check.
 */
const admittedCondition = `COALESCE((
  SELECT rolsuper OR pg_has_role(oid, '${applicationRole}',
           CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
    FROM pg_roles WHERE rolname = $1 AND rolname <> '${applicationRole}'), true)`;

async function admitService(client: Client, serviceUrl: string): Promise<void> {
  const login = loginOf(serviceUrl);
  const { rows } = await client.query<{ admitted: boolean }>(`SELECT ${admittedCondition} AS admitted`, [
    login,
  ]);
  if (rows[0]?.admitted) return;
  const grant = `GRANT ${applicationRole} TO ${client.escapeIdentifier(login)}`;
  await client.query(grant).catch((cause: unknown) => {
    throw new Error(
      `The database user "${login}" may not work as ${applicationRole}. Let an administrator run: ${grant};`,
      { cause },
    );
  });
}
