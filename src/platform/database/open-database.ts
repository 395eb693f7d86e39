import type { Settings } from '../config';
import type { Migration } from './data-source';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres';
import { migrate } from './migrate';

export interface OpenDatabase {
  /** As the service connects. */
  url: string;
  /** Settles when an embedded server ends without having been asked to. */
  exited: Promise<void>;
  close(): Promise<void>;
}

export interface OpeningDatabase extends OpenDatabase {
  /** Settles once the database is up to date, or cannot be. */
  current: Promise<void>;
}

/** The configured database, or the embedded one, while it is brought up to date. */
export async function startDatabase(
  settings: Settings,
  migrations: readonly Migration[],
): Promise<OpeningDatabase> {
  const server = settings.databaseUrl
    ? external(settings.databaseUrl, settings.migrationDatabaseUrl)
    : await startEmbeddedPostgres({ dataFolder: settings.dataFolder });
  const queue = !settings.redisUrl;
  const current = migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue });
  const over = current.catch(() => undefined);
  return { url: server.url, current, exited: server.exited, close: () => over.then(server.stop) };
}

/** The same, once it is up to date. */
export async function openDatabase(
  settings: Settings,
  migrations: readonly Migration[],
): Promise<OpenDatabase> {
  const opening = await startDatabase(settings, migrations);
  try {
    await opening.current;
    return opening;
  } catch (error) {
    await opening.close();
    throw error;
  }
}

/** For a command beside a running service: its database, or the configured one, or one started for the moment. */
export async function attachDatabase(
  settings: Settings,
  migrations: readonly Migration[],
): Promise<OpenDatabase> {
  const running = settings.databaseUrl ? undefined : runningEmbeddedPostgres(settings.dataFolder);
  if (running === undefined) return openDatabase(settings, migrations);
  return { url: running.url, exited: new Promise(() => undefined), close: () => Promise.resolve() };
}

function external(url: string, ownerUrl = url) {
  return {
    url,
    ownerUrl,
    exited: new Promise<void>(() => undefined),
    stop: () => Promise.resolve(),
  };
}
