import type { Settings } from '../config';
import type { Logger } from '../logging';
import type { Migration } from './data-source';
import { ownProcess } from '../processes/own-process';
import { runningEmbeddedPostgres, startEmbeddedPostgres, type SupervisorEvent } from './embedded-postgres';
import { counting, type EmbeddedEvents } from './embedded-report';
import type { ExtensionTables } from './extension-role';
import { migrate, type MigrationProgress, type ReportProgress } from './migrate';

export interface OpenDatabase {
  /** As the service connects. */
  url: string;
  /** As the owner of the schema connects. */
  ownerUrl: string;
  /** The embedded server keeps its files here; undefined: the database is a server of the operator's own. */
  folder?: string;
  /** Settles when an embedded server has ended unasked and could not be started again. */
  exited: Promise<void>;
  close(): Promise<void>;
}

interface EmbeddedServer {
  /** It keeps its files here. */
  readonly folder: string;
  readonly events: EmbeddedEvents;
}

export interface OpeningDatabase extends OpenDatabase {
  readonly embedded: EmbeddedServer | null;
  /** Settles once the database is up to date, or cannot be. */
  current: Promise<void>;
}

/** The tables that a database has to have. */
interface Schema {
  readonly migrations: readonly Migration[];
  readonly extensions?: readonly ExtensionTables[];
}

/** The configured database, or the embedded one, while it is brought up to date. */
export async function startDatabase(
  settings: Settings,
  { migrations, extensions = [] }: Schema,
  logger?: Logger,
): Promise<OpeningDatabase> {
  const { events, report } = counting(logger);
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
  const over = current.catch(() => undefined);
  const { url, ownerUrl, exited, folder } = server;
  const embedded = folder === undefined || ownProcess !== null ? null : { folder, events };
  return {
    url,
    ownerUrl,
    ...(folder === undefined ? {} : { folder }),
    current,
    exited,
    embedded,
    close: () => over.then(() => server.stop()),
  };
}

/** The embedded server belongs to the supervisor where there is one: it outlives each of the processes. */
async function serverOf(settings: Settings, report: (event: SupervisorEvent) => void) {
  const { databaseUrl, migrationDatabaseUrl, dataFolder, backupTarget } = settings;
  if (databaseUrl !== undefined) return external(databaseUrl, migrationDatabaseUrl);
  const running = ownProcess === null ? undefined : runningEmbeddedPostgres(dataFolder);
  if (running === undefined)
    return startEmbeddedPostgres({
      dataFolder,
      archives: backupTarget !== undefined,
      supervision: { report },
    });
  const server = external(running.url, running.ownerUrl);
  // One of the processes looks after its files.
  return ownProcess === 1 ? { ...server, folder: running.folder } : server;
}

/** The same, once it is up to date. */
async function openDatabase(settings: Settings, schema: Schema): Promise<OpenDatabase> {
  const opening = await startDatabase(settings, schema);
  try {
    await opening.current;
    return opening;
  } catch (error) {
    await opening.close();
    throw error;
  }
}

/** A command beside a running service gets its database, or the configured one, or one started for the moment. */
export async function attachDatabase(settings: Settings, schema: Schema): Promise<OpenDatabase> {
  const running = settings.databaseUrl ? undefined : runningEmbeddedPostgres(settings.dataFolder);
  if (running === undefined) return openDatabase(settings, schema);
  return { ...running, exited: new Promise(() => undefined), close: () => Promise.resolve() };
}

function external(url: string, ownerUrl = url) {
  return {
    url,
    ownerUrl,
    folder: undefined,
    exited: new Promise<void>(() => undefined),
    stop: () => Promise.resolve(),
  };
}

/** An operator who updates sees what takes how long. */
const progressTo =
  (logger: Logger): ReportProgress =>
  ({ step, ...facts }) =>
    logger.info(progressLines[step], facts);

const progressLines: Readonly<Record<MigrationProgress['step'], string>> = {
  begins: 'the database is brought up to date',
  waits: 'a migration lets those go first who use its table',
  continues: 'a migration is still running',
  done: 'a migration is done',
};
