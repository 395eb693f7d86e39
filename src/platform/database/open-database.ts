import type { Settings } from '../config';
import type { Logger } from '../logging';
import type { Migration } from './data-source';
import { ownProcess } from '../processes/own-process';
import { runningEmbeddedPostgres, startEmbeddedPostgres, type SupervisorEvent } from './embedded-postgres';
import { createEventCounter, type EmbeddedEvents } from './embedded-report';
import type { ExtensionTables } from './extension-role';
import { migrate, type MigrationProgress, type ReportProgress } from './migrate';

export interface OpenDatabase {
  /** For the service. */
  url: string;
  /** For the owner of the schema. */
  ownerUrl: string;
  /** Folder of the embedded server's files; undefined for a server of the operator's own. */
  folder?: string;
  /** Settles when an embedded server ended unexpectedly and could not be restarted. */
  exited: Promise<void>;
  close(): Promise<void>;
}

interface EmbeddedServer {
  readonly folder: string;
  readonly events: EmbeddedEvents;
}

export interface OpeningDatabase extends OpenDatabase {
  readonly embedded: EmbeddedServer | null;
  /** Settles once the database is up to date, or cannot be. */
  current: Promise<void>;
}

interface RequiredSchema {
  readonly migrations: readonly Migration[];
  readonly extensions?: readonly ExtensionTables[];
}

/** Opens the configured database, or the embedded one, while it is brought up to date. */
export async function startDatabase(
  settings: Settings,
  { migrations, extensions = [] }: RequiredSchema,
  logger?: Logger,
): Promise<OpeningDatabase> {
  const { events, report } = createEventCounter(logger);
  const server = await serverOf(settings, report);
  const queue = !settings.redisUrl;
  const current = migrate({
    url: server.ownerUrl,
    serviceUrl: server.url,
    migrations,
    queue,
    extensions: {
      tables: extensions,
      masterKey: settings.masterKey,
      isEmbedded: settings.databaseUrl === undefined,
    },
    ...(logger && { report: progressTo(logger) }),
  });
  const settled = current.catch(() => undefined);
  const { url, ownerUrl, exited, folder } = server;
  const embedded = folder === undefined || ownProcess !== null ? null : { folder, events };
  return {
    url,
    ownerUrl,
    ...(folder === undefined ? {} : { folder }),
    current,
    exited,
    embedded,
    close: () => settled.then(() => server.stop()),
  };
}

/** If there is a supervisor, the embedded server belongs to it, and outlives each of the processes. */
async function serverOf(settings: Settings, report: (event: SupervisorEvent) => void) {
  const { databaseUrl, migrationDatabaseUrl, dataFolder, backupTarget } = settings;
  if (databaseUrl !== undefined) return externalServer(databaseUrl, migrationDatabaseUrl);
  const running = ownProcess === null ? undefined : runningEmbeddedPostgres(dataFolder);
  if (running === undefined)
    return startEmbeddedPostgres({
      dataFolder,
      archives: backupTarget !== undefined,
      supervision: { report },
    });
  const server = externalServer(running.url, running.ownerUrl);
  // Only one of the processes looks after the server's files.
  return ownProcess === 1 ? { ...server, folder: running.folder } : server;
}

/** Opens the database and waits until it is up to date. */
async function openDatabase(settings: Settings, schema: RequiredSchema): Promise<OpenDatabase> {
  const opening = await startDatabase(settings, schema);
  try {
    await opening.current;
    return opening;
  } catch (error) {
    await opening.close();
    throw error;
  }
}

/** Database for a command: that of a running service, the configured one, or one started for the command. */
export async function attachDatabase(settings: Settings, schema: RequiredSchema): Promise<OpenDatabase> {
  const running = settings.databaseUrl ? undefined : runningEmbeddedPostgres(settings.dataFolder);
  if (running === undefined) return openDatabase(settings, schema);
  return { ...running, exited: new Promise(() => undefined), close: () => Promise.resolve() };
}

function externalServer(url: string, ownerUrl = url) {
  return {
    url,
    ownerUrl,
    folder: undefined,
    exited: new Promise<void>(() => undefined),
    stop: () => Promise.resolve(),
  };
}

/** Shows an operator who updates which step takes how long. */
const progressTo =
  (logger: Logger): ReportProgress =>
  ({ step, ...details }) =>
    logger.info(progressLines[step], details);

const progressLines: Readonly<Record<MigrationProgress['step'], string>> = {
  begins: 'the database is brought up to date',
  waits: 'a migration lets those go first who use its table',
  continues: 'a migration is still running',
  done: 'a migration is done',
};
