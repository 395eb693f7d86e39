import { resolve } from 'node:path';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import { entities } from '../boot/app.module';
import { foreignMasterKeyIn } from '../catalogue';
import { type CommandContext, NoInstallation } from './command';
import {
  applicationUrl,
  attachDatabase,
  Database,
  type ExtensionTables,
  hasEmbeddedDatabase,
  loadSettings,
  type OpenDatabase,
  type Settings,
  survivesLostConnections,
} from '../platform';

/** A command that made an empty installation where there is none would tell of that one. */
export function settingsOfInstallation(environment: NodeJS.ProcessEnv): Settings {
  const { databaseUrl, dataFolder } = loadSettings(environment, { makesSecrets: false });
  if (databaseUrl === undefined && !hasEmbeddedDatabase(dataFolder))
    throw new NoInstallation(
      `There is no installation in ${resolve(dataFolder)}. Give the command the settings of the service ` +
        '(DATA_FOLDER, DATABASE_URL, secrets), or start the service once.',
    );
  return loadSettings(environment);
}

/** Runs a command on the database of the service, whether that is running or not, and says which one that is. */
export async function withDatabase<T>(
  work: (database: Database, settings: Settings) => Promise<T>,
  { environment, writeStderr }: Pick<CommandContext, 'environment' | 'writeStderr'>,
  extensions: readonly ExtensionTables[] = [],
): Promise<T> {
  const settings = settingsOfInstallation(environment);
  writeStderr(`Installation: ${installationOf(settings)}\n`);
  const open = await attachDatabase(settings, { migrations, extensions });
  return using({ ...open, url: applicationUrl(open.url) }, async (database) => {
    const foreign = await foreignMasterKeyIn(database, settings);
    if (foreign !== null) throw new NoInstallation(`${foreign} Give the command the secrets of the service.`);
    return work(database, settings);
  });
}

/** The same as the owner of the schema, for a command that changes it. */
export async function withOwnedDatabase<T>(
  work: (database: Database, settings: Settings, ownerUrl: string) => Promise<T>,
  { environment, writeStderr }: Pick<CommandContext, 'environment' | 'writeStderr'>,
): Promise<T> {
  const settings = settingsOfInstallation(environment);
  writeStderr(`Installation: ${installationOf(settings)}\n`);
  const open = await attachDatabase(settings, { migrations });
  return using({ ...open, url: open.ownerUrl }, (database) => work(database, settings, open.ownerUrl));
}

/** The same for a command that only looks: an external database is not migrated. */
export async function inspectDatabase<T>(
  settings: Settings,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { databaseUrl: url } = settings;
  const open =
    url === undefined
      ? await attachDatabase(settings, { migrations })
      : { url, close: () => Promise.resolve() };
  return using({ ...open, url: applicationUrl(open.url) }, work);
}

/** The address is that of the role that works. */
async function using<T>(
  open: Pick<OpenDatabase, 'url' | 'close'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  try {
    const source = new DataSource({
      type: 'postgres',
      url: open.url,
      installExtensions: false,
      extra: survivesLostConnections,
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
    await open.close();
  }
}

/** It leaves out the password that an address may carry. */
export function installationOf({ databaseUrl, dataFolder }: Settings): string {
  if (databaseUrl === undefined) return `embedded PostgreSQL in ${dataFolder}`;
  const { host, pathname } = new URL(databaseUrl);
  return `PostgreSQL at ${host || 'a local socket'}${pathname}`;
}
