import { runMigrations as runQueueMigrations } from 'bullmq';
import { Client } from 'pg';
import { applicationRole } from './connection-url';
import { type Migration, migrationDataSource } from './data-source';

/** Chosen once for this product; the number means nothing, but every node has to use the same. */
const migrationLock = 5_719_024;
const defaultDeadlineMs = 300_000;

export interface MigrateOptions {
  /** As a role that may change the schema. */
  url: string;
  /** The login the service will use, when it is another one. */
  serviceUrl?: string;
  migrations: readonly Migration[];
  /** Whether the queue lives in this database, that is, without Redis. */
  queue: boolean;
  deadlineMs?: number;
}

/**
 * Brings the database up to date. Nodes that start at once take turns under an advisory lock, which the server
 * releases by itself when its holder dies.
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
    await takeTurn(client, options.deadlineMs ?? defaultDeadlineMs);
    const source = await migrationDataSource(options.url, options.migrations).initialize();
    try {
      await source.runMigrations({ transaction: 'each' });
    } finally {
      await source.destroy();
    }
    if (options.queue) await migrateQueue(client);
    await admitService(client, options.serviceUrl ?? options.url);
  } finally {
    await client.end();
  }
}

async function takeTurn(client: Client, deadlineMs: number): Promise<void> {
  await client.query(`SET lock_timeout = ${deadlineMs}`);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
  } catch (cause) {
    if ((cause as { code?: string }).code !== '55P03') throw cause;
    throw new Error(
      `Another node has been migrating this database for ${Math.round(deadlineMs / 1000)} s. ` +
        'Look at it first: in pg_stat_activity it is called "switchboard-migrations".',
      { cause },
    );
  }
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

/** Since PostgreSQL 16 a member may take a role only when that was granted too. */
async function mayTakeRole(client: Client): Promise<'SET' | 'MEMBER'> {
  const { rows } = await client.query<{ version: number }>(
    "SELECT current_setting('server_version_num')::int AS version",
  );
  return (rows[0]?.version ?? 0) >= 160_000 ? 'SET' : 'MEMBER';
}

/** Lets the login of the service take the application's role. */
async function admitService(client: Client, serviceUrl: string): Promise<void> {
  const login = decodeURIComponent(new URL(serviceUrl).username);
  if (!login) return;
  const { rows } = await client.query<{ admitted: boolean }>(
    `SELECT rolsuper OR pg_has_role(oid, '${applicationRole}', $2) AS admitted
       FROM pg_roles WHERE rolname = $1 AND rolname <> '${applicationRole}'`,
    [login, await mayTakeRole(client)],
  );
  if (rows[0]?.admitted !== false) return;
  const grant = `GRANT ${applicationRole} TO ${client.escapeIdentifier(login)}`;
  await client.query(grant).catch((cause: unknown) => {
    throw new Error(
      `The database user "${login}" may not work as ${applicationRole}. Let an administrator run: ${grant};`,
      { cause },
    );
  });
}
