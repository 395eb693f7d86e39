import { resolve } from 'node:path';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import { entities } from '../boot/app.module';
import { foreignMasterKeyIn } from '../catalogue';
import { type CliContext, NoInstallationError } from './command';
import {
  applicationUrl,
  attachDatabase,
  Database,
  type ExtensionTables,
  hasEmbeddedDatabase,
  loadSettings,
  type OpenDatabase,
  type Settings,
  resilientPoolOptions,
} from '../platform';

/** Prevents a command from creating an empty installation and reporting on that one. */
export function settingsOfInstallation(environment: NodeJS.ProcessEnv): Settings {
  const { databaseUrl, dataFolder } = loadSettings(environment, { createsSecrets: false });
  if (databaseUrl === undefined && !hasEmbeddedDatabase(dataFolder))
    throw new NoInstallationError(
      `There is no installation in ${resolve(dataFolder)}. Give the command the settings of the service ` +
        '(DATA_FOLDER, DATABASE_URL, secrets), or start the service once.',
    );
  return loadSettings(environment);
}

/**
 * Runs a command on the service's database, whether or not the service is running, and reports which database it is.
 */
export async function withDatabase<T>(
  work: (database: Database, settings: Settings) => Promise<T>,
  { environment, writeStderr }: Pick<CliContext, 'environment' | 'writeStderr'>,
  extensions: readonly ExtensionTables[] = [],
): Promise<T> {
  const settings = settingsOfInstallation(environment);
  writeStderr(`Installation: ${describeInstallation(settings)}\n`);
  const connection = await attachDatabase(settings, { migrations, extensions });
  return useDatabase({ ...connection, url: applicationUrl(connection.url) }, async (database) => {
    const problem = await foreignMasterKeyIn(database, settings);
    if (problem !== null)
      throw new NoInstallationError(`${problem} Give the command the secrets of the service.`);
    return work(database, settings);
  });
}

/** Like `withDatabase`, as the owner of the schema, for a command that changes it. */
export async function withOwnedDatabase<T>(
  work: (database: Database, settings: Settings, ownerUrl: string) => Promise<T>,
  { environment, writeStderr }: Pick<CliContext, 'environment' | 'writeStderr'>,
): Promise<T> {
  const settings = settingsOfInstallation(environment);
  writeStderr(`Installation: ${describeInstallation(settings)}\n`);
  const connection = await attachDatabase(settings, { migrations });
  return useDatabase({ ...connection, url: connection.ownerUrl }, (database) =>
    work(database, settings, connection.ownerUrl),
  );
}

/** Like `withDatabase`, for a read-only command: an external database is not migrated. */
export async function inspectDatabase<T>(
  settings: Settings,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { databaseUrl: url } = settings;
  const connection =
    url === undefined
      ? await attachDatabase(settings, { migrations })
      : { url, close: () => Promise.resolve() };
  return useDatabase({ ...connection, url: applicationUrl(connection.url) }, work);
}

async function useDatabase<T>(
  connection: Pick<OpenDatabase, 'url' | 'close'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  try {
    const source = new DataSource({
      type: 'postgres',
      url: connection.url,
      installExtensions: false,
      extra: resilientPoolOptions,
      poolSize: 3,
      entities,
    });
    await source.initialize();
    try {
      return await work(new Database(source));
    } finally {
      await source.destroy();
    }
  } finally {
    await connection.close();
  }
}

export function describeInstallation({ databaseUrl, dataFolder }: Settings): string {
  if (databaseUrl === undefined) return `embedded PostgreSQL in ${dataFolder}`;
  const { host, pathname } = new URL(databaseUrl);
  return `PostgreSQL at ${host || 'a local socket'}${pathname}`;
}
